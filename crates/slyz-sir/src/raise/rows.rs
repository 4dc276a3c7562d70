//! Loops that write the row of a thread, as arrays; and loops by which few threads go through many positions.

use super::Unraised;
use super::control::Turning;
use super::layout::Written;
use super::lift::{Axis, Lift, Value};
use super::poly::{Poly, Term};
use super::sums::unit;
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt, Type, Var};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write;
use std::collections::HashSet;

/// What turns reach, as the array of all that it has been: a sum that is carried from turn to turn, or what each turn stores.
#[derive(Clone, Debug)]
pub(super) struct Running {
    array: Id,
    /// What a sum began with, where that changes it.
    init: Option<(Operator, Id)>,
    ty: Ty,
}

impl<'k> Lift<'k> {
    /// The tensors whose rows the loop with that counter writes.
    pub(super) fn rows_of(&self, counter: Id, memories: &[MemId]) -> Vec<MemId> {
        let Some(atom) = self.counters.get(&counter) else { return vec![] };
        let writes =
            |memory: &&MemId| self.layouts.written(**memory).is_some_and(|written| written.rows.contains(atom));
        memories.iter().filter(writes).copied().collect()
    }

    /// An element of a row that only this thread writes.
    pub(super) fn own_row(&mut self, memory: MemId, written: &Written, position: &[Poly]) -> Result<Id, Unraised> {
        let [Some((_, own)), Some((last, outer))] = [written.position.split_last(), position.split_last()] else {
            return Err(self.neighbours(memory));
        };
        if own != outer {
            return Err(self.neighbours(memory));
        }
        if self.in_row.contains(&memory) {
            // While the row is written, no other element of it is known.
            let counter = self.row_counter.map(|counter| Poly::term(Term::Atom(counter)));
            if counter.as_ref() != Some(last) {
                return Err(self.neighbours(memory));
            }
            if let Some(&value) = self.stored.get(&memory) {
                return Ok(value);
            }
        }
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let extent = written.shape.last().and_then(|size| self.size_value(size));
        let inside = self.range(last).zip(extent).map(|((low, high), extent)| low >= 0 && high < extent);
        if !self.holds(inside) {
            return Err(self.outside(memory));
        }
        let (array, index) = match self.rows.get(&memory) {
            Some(&row) => (row, vec![self.write(last)]),
            None => {
                let index = position.iter().map(|poly| self.write(poly)).collect();
                (self.array(memory)?, index)
            }
        };
        Ok(self.lines.push(Op::At { array, index }, ty))
    }

    /// Writes rows: what each turn stores, for all turns at once. What turns carry is not known to them.
    pub(super) fn write_rows(&mut self, rows: &[MemId], turning: &Turning<'k>) -> Result<(), Unraised> {
        let wrong = || Unraised::Position(self.kernel.memories[rows[0].0 as usize].name.clone());
        let mut extents: Vec<Size> = vec![];
        for memory in rows {
            let all = self.layouts.written(*memory).and_then(|written| written.shape.last());
            extents.extend(all.cloned());
        }
        extents.dedup();
        let ([extent], true, 0) = (&extents[..], turning.extent.is_some(), self.depth) else { return Err(wrong()) };
        let whole = self.size_value(extent).zip(turning.turns).map(|(size, turns)| size == turns);
        if !self.holds(whole) {
            return Err(wrong());
        }
        let extent = extent.clone();
        let position = self.lines.var(Ty::I64);
        for param in turning.body.params.iter().skip(1) {
            self.env.remove(&param.id);
        }
        let certain = self.certain;
        self.certain = certain && self.holds(turning.turns.map(|turns| turns > 0));
        self.find_running(rows, turning, &extent)?;
        let atom = self.enter(turning, position.id);
        self.row_counter = atom.map(|atom| atom as u32);
        let around = self.lines.begin();
        let stored = self.stored_elements(rows, turning.body);
        let stmts = self.lines.end(around);
        self.running.clear();
        self.certain = certain;
        self.row_counter = None;
        if let Some(atom) = atom {
            self.atoms[atom].id = None;
        }
        let stored = stored?;
        let shape = vec![extent];
        let array = |memory: &MemId| Type::Array(self.kernel.memories[memory.0 as usize].ty, shape.clone());
        let tys: Vec<Type> = rows.iter().map(array).collect();
        let binds: Vec<Var> = tys.into_iter().map(|ty| Var { id: self.lines.fresh(), ty }).collect();
        self.rows.extend(rows.iter().copied().zip(binds.iter().map(|bind| bind.id)));
        let body = Body { params: vec![position], stmts, results: stored };
        self.lines.out().push(Stmt { binds, op: Op::Tabulate { shape, body } });
        Ok(())
    }

    /// What a turn leaves in the elements of its rows.
    fn stored_elements(&mut self, rows: &[MemId], body: &'k Body) -> Result<Vec<Id>, Unraised> {
        self.in_turn(rows, |lift| {
            lift.needed_for(&body.stmts, &[])?;
            let missing = |memory: &MemId| Unraised::Position(lift.kernel.memories[memory.0 as usize].name.clone());
            rows.iter().map(|memory| lift.stored.get(memory).copied().ok_or_else(|| missing(memory))).collect()
        })
    }

    /// Writes code of a turn that writes elements of rows.
    fn in_turn<T>(
        &mut self,
        rows: &[MemId],
        write: impl FnOnce(&mut Self) -> Result<T, Unraised>,
    ) -> Result<T, Unraised> {
        let before = std::mem::take(&mut self.stored);
        self.in_row.extend(rows);
        self.depth += 1;
        let done = write(self);
        self.depth -= 1;
        self.in_row.clear();
        self.stored = before;
        done
    }

    /// Sums that turns store on their way, as scans.
    fn find_running(&mut self, rows: &[MemId], turning: &Turning<'k>, extent: &Size) -> Result<(), Unraised> {
        let body = turning.body;
        let wanted = body.sources(&stored_from(&body.stmts));
        for ((param, &result), &init) in body.params.iter().skip(1).zip(&body.results).zip(turning.init) {
            let ty = param.ty.elem();
            let Some(Op::Apply(operator, args)) = self.definition(result) else { continue };
            let row = operator.row();
            let item = match args[..] {
                [a, b] if a == param.id && b != param.id => b,
                [a, b] if b == param.id && a != param.id => a,
                _ => continue,
            };
            let combines = row.commutative && row.associative && (self.reassociates || !ty.is_float());
            let (Some(neutral), true, true) = (unit(*operator, ty), combines, wanted.contains(&result)) else {
                continue;
            };
            let position = self.lines.var(Ty::I64);
            let atom = self.enter(turning, position.id);
            self.row_counter = atom.map(|atom| atom as u32);
            // What turns have stored before they add to the sum.
            let Some(place) = body.stmts.iter().position(|stmt| stmt.binds.iter().any(|bind| bind.id == result)) else {
                continue;
            };
            let around = self.lines.begin();
            let made = self.in_turn(rows, |lift| {
                lift.needed_for(&body.stmts[..place], &[item])?;
                lift.code(item)
            });
            let stmts = self.lines.end(around);
            self.row_counter = None;
            let item = Body { params: vec![position], stmts, results: vec![made?] };
            let neutral = vec![self.lines.constant(neutral)];
            let combine = self.lines.nested(&[ty, ty], |lines, ids| vec![lines.apply(*operator, ids, ty)]);
            let shape = vec![extent.clone()];
            let array = Var { id: self.lines.fresh(), ty: Type::Array(ty, shape.clone()) };
            let init = self.code(init)?;
            let begins_with_nothing = self.is_unit(init, *operator, ty);
            let init = (!begins_with_nothing).then_some((*operator, init));
            self.running.insert(result, Running { array: array.id, init, ty });
            let monoid = Monoid { neutral, combine, commutative: true };
            self.lines.out().push(Stmt { binds: vec![array], op: Op::Scan { shape, body: item, monoid } });
        }
        Ok(())
    }

    /// What turns have stored in rows, for code that asks for it once more: `out[j] = e; sum += e` computes `e` once.
    pub(super) fn find_stored(&mut self, rows: &[MemId], body: &Body) {
        let carried: Vec<Id> = body.params.iter().skip(1).map(|param| param.id).collect();
        for memory in rows {
            let mut stores = 0;
            collect(body, &mut |stmt| {
                stores += usize::from(matches!(&stmt.op, Op::Store { memory: to, .. } if to == memory));
            });
            let at_all_turns = body.stmts.iter().find_map(|stmt| match &stmt.op {
                Op::Store { memory: to, values, .. } if to == memory && values.len() == 1 => values.first().copied(),
                _ => None,
            });
            let (Some(value), Some(&array), 1) = (at_all_turns, self.rows.get(memory), stores) else { continue };
            // Positions are better known by themselves, and what turns carry is what is being made.
            let computes = matches!(self.definition(value), Some(Op::Apply(..) | Op::Call(..)));
            let ty = self.kernel.memories[memory.0 as usize].ty;
            let own = body.sources(&[value]);
            if computes && !matches!(ty, Ty::I64 | Ty::Bool) && !carried.iter().any(|id| own.contains(id)) {
                self.running.insert(value, Running { array, init: None, ty });
            }
        }
    }

    /// What turns reach, at this turn.
    pub(super) fn reached(&mut self, running: &Running) -> Result<Id, Unraised> {
        let Some(counter) = self.row_counter else { return Err(Unraised::Large) };
        let index = vec![self.write(&Poly::term(Term::Atom(counter)))];
        let sum = self.lines.push(Op::At { array: running.array, index }, running.ty);
        let all = |(operator, init)| self.lines.apply(operator, &[init, sum], running.ty);
        Ok(running.init.map_or(sum, all))
    }

    /// Writes the statements that store, and those that these names and what is stored need: not what only serves what turns carry.
    fn needed_for(&mut self, stmts: &'k [Stmt], wanted: &[Id]) -> Result<(), Unraised> {
        let mut open = stored_from(stmts);
        open.extend(wanted);
        // What a sum was made from is in it.
        let reached: HashSet<Id> = self.running.keys().copied().collect();
        let needed = sources_up_to(stmts, &open, &reached);
        let is_needed = |stmt: &&Stmt| stmt.op.has_effect() || stmt.binds.iter().any(|bind| needed.contains(&bind.id));
        stmts.iter().filter(is_needed).try_for_each(|stmt| self.stmt(stmt))
    }

    /// `for i in thread..n step threads`: its counter is the thread, and there are `n` of them.
    pub(super) fn find_stride(&mut self, stmt: &'k Stmt) {
        let Op::For { lo, hi, step, init, body } = &stmt.op else { return };
        let (Some(counter), true) = (body.params.first(), init.is_empty()) else { return };
        let [Some(Value::Poly(lo_at)), Some(Value::Poly(end)), Some(Value::Poly(by))] =
            [self.peek(*lo), self.peek(*hi), self.peek(*step)]
        else {
            return;
        };
        let Some((Term::Atom(axis @ 0..3), 0)) = self.normal(&lo_at).as_shifted() else { return };
        let same = self.value_of(&by).zip(self.axes[axis as usize].value).map(|(by, threads)| by == threads);
        let counted = self.value_of(&end);
        let unguarded = counted.is_none_or(|end| end >= 0) && end.is_uniform();
        if !self.holds(same) || !unguarded || !self.only_for(axis as u8, *lo) {
            return;
        }
        let Some(extent) = self.as_size(&end) else { return };
        self.axes[axis as usize] = Axis { extent, value: counted };
        self.strided = Some((counter.id, axis));
    }

    /// Is where threads stand along the axis asked for by nobody but the name?
    fn only_for(&self, axis: u8, name: Id) -> bool {
        let mut places = HashSet::new();
        collect(&self.kernel.body, &mut |stmt| {
            if let Op::Place(Place::Global | Place::Local | Place::Block, own) = stmt.op
                && own == axis
            {
                places.extend(stmt.binds.iter().map(|bind| bind.id));
            }
        });
        // What is made of them goes into the name alone.
        let sources = self.kernel.body.sources(&[name]);
        let mut right = true;
        let mut spread = places;
        collect(&self.kernel.body, &mut |stmt| {
            let mut uses = vec![];
            stmt.op.each_operand(&mut |id| uses.push(id));
            if uses.iter().any(|id| spread.contains(id)) {
                let is_loop = matches!(&stmt.op, Op::For { lo, .. } if *lo == name);
                if stmt.binds.iter().any(|bind| sources.contains(&bind.id)) && !is_loop {
                    spread.extend(stmt.binds.iter().map(|bind| bind.id));
                } else {
                    right &= is_loop && uses.iter().filter(|id| spread.contains(id)).all(|id| *id == name);
                }
            }
        });
        right
    }
}

/// The names that stores need.
fn stored_from(stmts: &[Stmt]) -> Vec<Id> {
    let mut wanted = vec![];
    for stmt in stmts.iter().filter(|stmt| stmt.op.has_effect()) {
        stmt.op.each_operand(&mut |id| wanted.push(id));
        stmt.op.bodies().iter().for_each(|inner| inner.each_free(&mut |id| wanted.push(id)));
    }
    wanted
}

/// The names that these are computed from, themselves included, without going behind some.
fn sources_up_to(stmts: &[Stmt], wanted: &[Id], stops: &HashSet<Id>) -> HashSet<Id> {
    let mut found: HashSet<Id> = wanted.iter().copied().collect();
    for stmt in stmts.iter().rev() {
        let named = stmt.binds.iter().any(|bind| found.contains(&bind.id));
        if named && !stmt.binds.iter().any(|bind| stops.contains(&bind.id)) {
            stmt.op.each_operand(&mut |id| found.extend([id]));
            stmt.op.bodies().iter().for_each(|inner| inner.each_free(&mut |id| found.extend([id])));
        }
    }
    found
}

fn collect<'k>(body: &'k Body, f: &mut dyn FnMut(&'k Stmt)) {
    for stmt in &body.stmts {
        f(stmt);
        stmt.op.bodies().into_iter().for_each(|inner| collect(inner, f));
    }
}
