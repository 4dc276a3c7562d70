//! Scatters for which the machine has no atomic, as operations that it runs with all its threads.
//!
//! An operator on narrow integers is one on wide ones, of which the low bits are kept. Where places are few, lanes take turns
//! (`lane_tables`). Otherwise values are sorted by their
//! places, so that those of a place are neighbours; a scan that starts again at every place combines them in their order;
//! and every place finds the last of its own by bisection. So floats are added in an order that sizes alone decide.
//!
//! ```text
//! %y = scatter [N] into [M] |%i| { … yield %p, %v } with (%unit) |%a, %b| { … }
//!   ⇒
//! %places, %values = sort [N] by [8, 32] |%i| { … yield %high, %low, %p, %v }
//! %starts, %sums = scan [N] |%k| { … yield %is_first, %v } with (false, %unit) |%s, %a, %t, %b| { … }
//! %y = tabulate [M] |%p| { … }
//! ```

use super::Machine;
use super::lane_tables::sends_by_turns;
use super::scatter::{atomic, writes_apart};
use crate::code::{Body, Id, Monoid, Op, Stmt, Type, Var};
use crate::lower::planning::unflatten;
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};
use std::borrow::Cow;

/// Positions that one thread sends sooner than others are sorted.
const FEW: u64 = 512;

/// The program with such scatters in other words: those of the top level, and of its loops.
pub(super) fn spelled_out<'p>(program: Cow<'p, Program>, machine: &Machine) -> Cow<'p, Program> {
    if !has_some(&program.body, machine) {
        return program;
    }
    let mut program = program.into_owned();
    let mut lines = Lines::new(program.fresh_ids());
    rewrite(&mut lines, &mut program.body, machine);
    Cow::Owned(program)
}

fn has_some(body: &Body, machine: &Machine) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Scatter { .. } => is_hard(&stmt.op, machine),
        _ if stmt.carries_arrays() => stmt.op.bodies().into_iter().any(|body| has_some(body, machine)),
        _ => false,
    })
}

/// Would one thread have to send all values of the scatter, and are there many?
fn is_hard(op: &Op, machine: &Machine) -> bool {
    match op {
        Op::Scatter { shape, body, target, monoid, .. } => {
            let few = Size::product(shape).constant().is_some_and(|count| count <= FEW);
            !few && !goes_by_turns(op, machine)
                && atomic(machine, monoid).is_none()
                && !writes_apart(monoid, body, target)
        }
        _ => false,
    }
}

/// Do the lanes of subgroups send the values of the scatter in turns, since it has no atomic, neither its own nor a wider one?
pub(super) fn goes_by_turns(op: &Op, machine: &Machine) -> bool {
    match op {
        Op::Scatter { body, target, monoid, .. } => {
            let has_atomic = atomic(machine, monoid).is_some() || wide_atomic(machine, monoid).is_some();
            !has_atomic && !writes_apart(monoid, body, target) && sends_by_turns(machine, op)
        }
        _ => false,
    }
}

/// The type of integers that has the atomic which narrow ones have not.
fn wide_atomic(machine: &Machine, monoid: &Monoid) -> Option<Ty> {
    let half = monoid.combine.params.len() / 2;
    let [param] = &monoid.combine.params[..half] else { return None };
    let wide = match param.ty.elem() {
        Ty::I8 | Ty::I16 => Ty::I32,
        Ty::U8 | Ty::U16 | Ty::Bool => Ty::U32,
        _ => return None,
    };
    let mut monoid = monoid.clone();
    monoid.combine.params.iter_mut().for_each(|param| param.ty = Type::Scalar(wide));
    atomic(machine, &monoid).map(|_| wide)
}

fn rewrite(lines: &mut Lines, body: &mut Body, machine: &Machine) {
    lines.rewrite(body, |lines, mut stmt| {
        if stmt.carries_arrays() {
            stmt.op.bodies_mut().into_iter().for_each(|body| rewrite(lines, body, machine));
        }
        if !is_hard(&stmt.op, machine) {
            return lines.out().push(stmt);
        }
        let Op::Scatter { shape, body, target, onto, monoid } = stmt.op else { unreachable!("asked for a scatter") };
        let scatter = Scatter { shape, body, target, onto, monoid };
        match wide_atomic(machine, &scatter.monoid) {
            Some(wide) => scatter.widened(lines, stmt.binds, wide),
            None => scatter.sorted(lines, stmt.binds),
        }
    });
}

/// The parts of the operation.
struct Scatter {
    shape: Vec<Size>,
    body: Body,
    target: Vec<Size>,
    onto: Vec<Id>,
    monoid: Monoid,
}

/// What was sent, in the order of places.
struct Sorted {
    count: Size,
    places: Id,
    /// `u32`, or `i64` where there may be more.
    ty: Ty,
    values: Vec<Id>,
}

impl Scatter {
    fn tys(&self) -> Vec<Ty> {
        let half = self.monoid.combine.params.len() / 2;
        self.monoid.combine.params[..half].iter().map(|param| param.ty.elem()).collect()
    }

    /// The same in wider integers, and back.
    fn widened(self, lines: &mut Lines, binds: Vec<Var>, wide: Ty) {
        let narrow = self.tys()[0];
        let neutral = self.monoid.neutral.iter().map(|&id| lines.push(Op::Cast(wide, id), wide)).collect();
        let mut combine = self.monoid.combine.freshened(&mut || lines.fresh());
        combine.params.iter_mut().for_each(|param| param.ty = Type::Scalar(wide));
        combine.stmts.iter_mut().flat_map(|stmt| &mut stmt.binds).for_each(|bind| bind.ty = Type::Scalar(wide));
        let monoid = Monoid { neutral, combine, commutative: self.monoid.commutative };
        let axes = vec![Ty::I64; self.shape.len()];
        let body = lines.nested(&axes, |lines, at| {
            let sent = inline(lines, &self.body, at);
            match sent.split_last() {
                Some((&value, place)) => [place, &[lines.push(Op::Cast(wide, value), wide)]].concat(),
                None => vec![],
            }
        });
        let op = Op::Scatter { shape: self.shape.clone(), body, target: self.target.clone(), onto: vec![], monoid };
        let sums = array(lines, op, wide, &self.target);
        self.results(lines, binds, |lines, at| {
            let sum = lines.push(Op::At { array: sums, index: at.to_vec() }, wide);
            match narrow {
                Ty::Bool => {
                    let zero = lines.constant(Scalar::from_int(wide, 0));
                    (None, vec![lines.apply(Operator::Ne, &[sum, zero], Ty::Bool)])
                }
                _ => (None, vec![lines.push(Op::Cast(narrow, sum), narrow)]),
            }
        });
    }

    fn sorted(self, lines: &mut Lines, binds: Vec<Var>) {
        let sorted = self.sort(lines);
        let sums = self.combine_neighbours(lines, &sorted);
        let tys = self.tys();
        self.results(lines, binds, |lines, at| {
            let place = linear(lines, at, &self.target);
            let place = cast(lines, place, sorted.ty);
            let past = bisect(lines, &sorted, place);
            let zero = lines.number(0);
            let has_before = lines.apply(Operator::Gt, &[past, zero], Ty::Bool);
            let last = lines.value(past - 1);
            let is_there = if_inside(lines, has_before, last, &[Ty::Bool], |lines, last| match last {
                Some(last) => {
                    let found = lines.push(Op::At { array: sorted.places, index: vec![last] }, sorted.ty);
                    vec![lines.apply(Operator::Eq, &[found, place], Ty::Bool)]
                }
                None => vec![lines.constant(Scalar::bool(false))],
            })[0];
            let found = if_inside(lines, is_there, last, &tys, |lines, last| match last {
                Some(last) => {
                    let read = |(&array, &ty): (&Id, &Ty)| lines.push(Op::At { array, index: vec![last] }, ty);
                    sums.iter().zip(&tys).map(read).collect()
                }
                None => self.monoid.neutral.clone(),
            });
            (Some(is_there), found)
        });
    }

    /// What is sent, in the order of places, and those that have none at the end.
    fn sort(&self, lines: &mut Lines) -> Sorted {
        let count = Size::product(&self.shape);
        let places = Size::product(&self.target);
        let few = places.constant().and_then(|places| u32::try_from(places).ok());
        // Where nobody knows, more than any memory holds.
        let widths = few.map_or(vec![8, 32], |places| vec![(u32::BITS - places.leading_zeros()).max(1)]);
        let ty = if few.is_some() { Ty::U32 } else { Ty::I64 };
        let body = lines.nested(&[Ty::I64], |lines, ids| {
            let at = if self.shape.is_empty() { vec![] } else { unflatten(lines, ids[0], &self.shape) };
            let sent = inline(lines, &self.body, &at);
            let (to, values) = sent.split_at(self.target.len());
            let inside = lines.within(to, &self.target);
            let place = linear(lines, to, &self.target);
            let outside = lines.extent(&places);
            let place = lines.apply(Operator::Select, &[inside, place, outside], Ty::I64);
            let low = cast(lines, place, Ty::U32);
            let kept = if few.is_some() { low } else { place };
            let mut words = vec![low];
            if few.is_none() {
                let shift = lines.number(32);
                let high = lines.apply(Operator::Shr, &[place, shift], Ty::I64);
                words.insert(0, cast(lines, high, Ty::U32));
            }
            [&words[..], &[kept], values].concat()
        });
        let op = Op::Sort { shape: vec![count.clone()], widths, body };
        let tys = [&[ty], &self.tys()[..]].concat();
        let mut arrays = arrays(lines, op, &tys, std::slice::from_ref(&count));
        let values = arrays.split_off(1);
        Sorted { count, places: arrays[0], ty, values }
    }

    /// Prefixes that start again at each place.
    fn combine_neighbours(&self, lines: &mut Lines, sorted: &Sorted) -> Vec<Id> {
        let tys = self.tys();
        let body = lines.nested(&[Ty::I64], |lines, ids| {
            let zero = lines.number(0);
            let before = lines.value(ids[0] - 1);
            let before = lines.apply(Operator::Max, &[before, zero], Ty::I64);
            let place =
                |lines: &mut Lines, at: Id| lines.push(Op::At { array: sorted.places, index: vec![at] }, sorted.ty);
            let own = place(lines, ids[0]);
            let other = place(lines, before);
            let starts = lines.apply(Operator::Ne, &[own, other], Ty::Bool);
            let read = |(&array, &ty): (&Id, &Ty)| lines.push(Op::At { array, index: vec![ids[0]] }, ty);
            let values: Vec<Id> = sorted.values.iter().zip(&tys).map(read).collect();
            [&[starts], &values[..]].concat()
        });
        let never = lines.constant(Scalar::bool(false));
        let side = [&[Ty::Bool], &tys[..]].concat();
        let combine = lines.nested(&side.repeat(2), |lines, ids| {
            let (left, right) = ids.split_at(side.len());
            let starts = lines.apply(Operator::Or, &[left[0], right[0]], Ty::Bool);
            let both = inline(lines, &self.monoid.combine, &[&left[1..], &right[1..]].concat());
            let pick = |((&both, &right), &ty): ((&Id, &Id), &Ty)| {
                lines.apply(Operator::Select, &[ids[side.len()], right, both], ty)
            };
            let picked: Vec<Id> = both.iter().zip(&right[1..]).zip(&tys).map(pick).collect();
            [&[starts], &picked[..]].concat()
        });
        let neutral = [&[never], &self.monoid.neutral[..]].concat();
        let monoid = Monoid { neutral, combine, commutative: false };
        let op = Op::Scan { shape: vec![sorted.count.clone()], body, monoid };
        arrays(lines, op, &side, std::slice::from_ref(&sorted.count)).split_off(1)
    }

    /// Every place: what it starts from, combined with what `sum` finds; where it tells whether there is any, only then.
    fn results(
        &self,
        lines: &mut Lines,
        binds: Vec<Var>,
        sum: impl FnOnce(&mut Lines, &[Id]) -> (Option<Id>, Vec<Id>),
    ) {
        let tys = self.tys();
        let axes = vec![Ty::I64; self.target.len()];
        let body = lines.nested(&axes, |lines, at| {
            let (any, sums) = sum(lines, at);
            let start: Vec<Id> = match &self.onto[..] {
                [] => self.monoid.neutral.clone(),
                onto => {
                    let read = |(&array, &ty): (&Id, &Ty)| lines.push(Op::At { array, index: at.to_vec() }, ty);
                    onto.iter().zip(&tys).map(read).collect()
                }
            };
            match any {
                // A sum that starts from the neutral element.
                None if self.onto.is_empty() => sums,
                None => inline(lines, &self.monoid.combine, &[&start[..], &sums].concat()),
                Some(any) => {
                    let combine = &self.monoid.combine;
                    let both = [&start[..], &sums].concat();
                    lines.branch(any, &tys, |lines| inline(lines, combine, &both), |_| start)
                }
            }
        });
        lines.out().push(Stmt { binds, op: Op::Tabulate { shape: self.target.clone(), body } });
    }
}

/// Values of a position where that is inside; it is seen only there.
fn if_inside(
    lines: &mut Lines,
    inside: Id,
    position: Id,
    tys: &[Ty],
    write: impl Fn(&mut Lines, Option<Id>) -> Vec<Id>,
) -> Vec<Id> {
    let then = lines.nested(&[Ty::I64], |lines, ids| write(lines, Some(ids[0])));
    let otherwise = lines.nested(&[Ty::I64], |lines, _| write(lines, None));
    lines.bind(Op::If { cond: inside, args: vec![position], then, otherwise }, tys)
}

/// How many of the sorted places are not behind the place.
fn bisect(lines: &mut Lines, sorted: &Sorted, place: Id) -> Id {
    let state = [Ty::I64, Ty::I64];
    let init = vec![lines.number(0), lines.extent(&sorted.count)];
    let cond = lines.nested(&state, |lines, ids| vec![lines.apply(Operator::Lt, &[ids[0], ids[1]], Ty::Bool)]);
    let body = lines.nested(&state, |lines, ids| {
        let (low, high) = (ids[0], ids[1]);
        let middle = lines.value((low + high) / 2);
        let found = lines.push(Op::At { array: sorted.places, index: vec![middle] }, sorted.ty);
        let not_behind = lines.apply(Operator::Le, &[found, place], Ty::Bool);
        let next = lines.value(middle + 1);
        let low = lines.apply(Operator::Select, &[not_behind, next, low], Ty::I64);
        vec![low, lines.apply(Operator::Select, &[not_behind, high, middle], Ty::I64)]
    });
    lines.bind(Op::While { init, cond, body }, &state)[0]
}

fn linear(lines: &mut Lines, at: &[Id], shape: &[Size]) -> Id {
    let mut place = lines.number(0);
    for (number, (&at, size)) in at.iter().zip(shape).enumerate() {
        if number == 0 {
            place = at;
            continue;
        }
        let extent = lines.extent(size);
        place = lines.value(place * extent + at);
    }
    place
}

fn cast(lines: &mut Lines, id: Id, ty: Ty) -> Id {
    if ty == Ty::I64 { id } else { lines.push(Op::Cast(ty, id), ty) }
}

/// A body where it is used.
fn inline(lines: &mut Lines, body: &Body, args: &[Id]) -> Vec<Id> {
    let body = body.instantiate(args, &mut || lines.fresh());
    lines.out().extend(body.stmts);
    body.results
}

fn array(lines: &mut Lines, op: Op, ty: Ty, shape: &[Size]) -> Id {
    arrays(lines, op, &[ty], shape)[0]
}

fn arrays(lines: &mut Lines, op: Op, tys: &[Ty], shape: &[Size]) -> Vec<Id> {
    let var = |&ty: &Ty| Var { id: lines.fresh(), ty: Type::Array(ty, shape.to_vec()) };
    let binds: Vec<Var> = tys.iter().map(var).collect();
    let ids = binds.iter().map(|bind| bind.id).collect();
    lines.out().push(Stmt { binds, op });
    ids
}
