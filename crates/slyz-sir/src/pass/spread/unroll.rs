//! Loops over a thread's turns: one after the other or, where turns are short, several at once.
//!
//! A read takes long to arrive, so a thread that asks for one element at a time waits most of the time. Several turns are written
//! side by side, reads first and stores last; what is left over at the end is done turn by turn.

use super::fold::types_of;
use super::{FAN, RUN, Spreader, contains};
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt};
use crate::ops::Operator;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// The most statements of a turn that is short.
const SHORT: usize = 16;

/// Turns that are written side by side.
#[derive(Clone, Copy)]
struct AtOnce {
    /// A power of two.
    count: u32,
    /// There are never fewer left.
    always: bool,
}

/// One turn after the other.
const ONE: AtOnce = AtOnce { count: 1, always: true };

impl Spreader<'_> {
    /// The turns from `lo` on, every `step`-th, that only write. `all` is the number of turns of all threads, if it is known.
    pub(super) fn turns(&mut self, [lo, hi]: [Id; 2], all: Option<i64>, step: u32, body: Body) {
        let at_once = self.at_once(all, step, &body);
        self.loop_over([lo, hi], at_once, step, vec![], body, None);
    }

    /// The turns from `lo` on that are this thread's, one after the other, upon what it has.
    pub(super) fn one_by_one(&mut self, range: [Id; 2], own: Vec<Id>, body: Body, monoid: Option<&Monoid>) -> Vec<Id> {
        self.loop_over(range, ONE, self.threads, own, body, monoid)
    }

    /// The fold of the turns from `lo` on.
    pub(super) fn accumulate(
        &mut self,
        [lo, hi]: [Id; 2],
        all: Option<i64>,
        step: u32,
        body: Body,
        monoid: &Monoid,
    ) -> Vec<Id> {
        let at_once = self.at_once(all, step, &body);
        let turn = i64::from(step) * i64::from(at_once.count);
        let rounds = types_of(monoid).iter().any(|ty| ty.is_float())
            && !matches!(monoid.operator(), Some(Operator::Min | Operator::Max));
        // The error of a sum grows with its longest chain: long ones are cut.
        let pieces: &[i64] = match all.map(|all| all / turn) {
            _ if !rounds || self.plain_sums => &[],
            Some(..=RUN) => &[],
            Some(_) | None => &[FAN * RUN, RUN],
        };
        let mut body = Some(body);
        self.cut([lo, hi], (pieces, turn), monoid, &mut |s, range| {
            let body = body.take().expect("the innermost loop is written once");
            s.loop_over(range, at_once, step, monoid.neutral.clone(), body, Some(monoid))
        })
    }

    /// A fold in pieces of so many turns, cut again into pieces of so many, and so on.
    fn cut(
        &mut self,
        [lo, hi]: [Id; 2],
        (pieces, turn): (&[i64], i64),
        monoid: &Monoid,
        fold: &mut dyn FnMut(&mut Self, [Id; 2]) -> Vec<Id>,
    ) -> Vec<Id> {
        let [length, pieces @ ..] = pieces else { return fold(self, [lo, hi]) };
        let tys = types_of(monoid);
        let length = self.number(length * turn);
        let body = self.nested(&[&[Ty::I64], &tys[..]].concat(), |s, ids| {
            let end = s.value(ids[0] + length);
            let end = s.value(end.least(hi));
            let part = s.cut([ids[0], end], (pieces, turn), monoid, fold);
            s.combine(monoid, &ids[1..], &part)
        });
        self.bind(Op::For { lo, hi, step: length, init: monoid.neutral.clone(), body }, &tys)
    }

    fn loop_over(
        &mut self,
        [lo, hi]: [Id; 2],
        at_once: AtOnce,
        step: u32,
        init: Vec<Id>,
        body: Body,
        monoid: Option<&Monoid>,
    ) -> Vec<Id> {
        let tys = monoid.map_or(vec![], types_of);
        let params = [&[Ty::I64], &tys[..]].concat();
        let AtOnce { count, always } = at_once;
        if count == 1 {
            let param = body.params[0].id;
            let stride = self.number(step.into());
            let turn = self.nested(&params, |s, ids| {
                let item = s.renamed_inline(body, param, ids[0]);
                monoid.map_or(vec![], |monoid| s.combine(monoid, &ids[1..], &item))
            });
            return self.bind(Op::For { lo, hi, step: stride, init, body: turn }, &tys);
        }
        let skipped: Vec<Id> = (0..=count).map(|k| self.number(i64::from(k) * i64::from(step))).collect();
        let turn = self.nested(&params, |s, ids| {
            let first = ids[0];
            let state = ids[1..].to_vec();
            let mut places = vec![first];
            places.extend(skipped[1..count as usize].iter().map(|&k| s.value(first + k)));
            let all = |s: &mut Self| {
                let items = s.together(&body, &places);
                monoid.map_or(vec![], |monoid| {
                    let joined = s.neighbours_joined(items, monoid);
                    s.combine(monoid, &state, &joined)
                })
            };
            if always {
                return all(s);
            }
            let whole = s.value(places[places.len() - 1].below(hi));
            let then = s.nested(&[], |s, _| all(s));
            let rest = body.freshened(&mut s.fresh);
            let otherwise = s.nested(&[], |s, _| s.loop_over([first, hi], ONE, step, state.clone(), rest, monoid));
            s.bind(Op::If { cond: whole, args: vec![], then, otherwise }, &tys)
        });
        self.bind(Op::For { lo, hi, step: skipped[count as usize], init, body: turn }, &tys)
    }

    /// A copy of the body for each place, stores behind everything else.
    fn together(&mut self, body: &Body, places: &[Id]) -> Vec<Vec<Id>> {
        let mut items = vec![];
        let mut last = vec![];
        for &place in places {
            let copy = body.instantiate(&[place], &mut self.fresh);
            let (stores, others): (Vec<Stmt>, Vec<Stmt>) =
                copy.stmts.into_iter().partition(|s| matches!(s.op, Op::Store { .. }));
            self.out.extend(others);
            last.extend(stores);
            items.push(copy.results);
        }
        self.out.extend(last);
        items
    }

    /// Neighbours are joined, then neighbouring pairs, and so on.
    pub(super) fn neighbours_joined(&mut self, mut items: Vec<Vec<Id>>, monoid: &Monoid) -> Vec<Id> {
        while items.len() > 1 {
            let pairs = items.chunks(2);
            items = pairs
                .map(|pair| match pair {
                    [left, right] => self.combine(monoid, left, right),
                    single => single.concat(),
                })
                .collect();
        }
        items.concat()
    }

    /// How many turns of a thread are written side by side.
    fn at_once(&self, all: Option<i64>, step: u32, body: &Body) -> AtOnce {
        if length(body) > SHORT || !stores_last(body) {
            return ONE;
        }
        let turn = |count: u32| i64::from(count) * i64::from(step);
        let most = self.turns_at_once.next_power_of_two();
        let counts = std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n > 1);
        let count = counts.into_iter().find(|&n| all.is_none_or(|all| turn(n) <= all));
        let always = |count: u32| all.is_some_and(|all| all % turn(count) == 0);
        count.map_or(ONE, |count| AtOnce { count, always: always(count) })
    }
}

/// The number of statements; loops are too many.
fn length(body: &Body) -> usize {
    body.stmts.iter().fold(0usize, |sum, s| {
        let inner = match &s.op {
            Op::For { .. } | Op::While { .. } => usize::MAX,
            op => op.bodies().into_iter().fold(0usize, |sum, b| sum.saturating_add(length(b))),
        };
        sum.saturating_add(1).saturating_add(inner)
    })
}

/// Can all stores wait for the end of the turn, and of those beside it: is nothing read that is written, nothing
/// written in branches, and nothing shared by atomics?
pub(super) fn stores_last(body: &Body) -> bool {
    let stored: Vec<MemId> = body
        .stmts
        .iter()
        .filter_map(|s| if let Op::Store { memory, .. } = &s.op { Some(*memory) } else { None })
        .collect();
    let waits = |op: &Op| match op {
        Op::Load { memory, .. } => stored.contains(memory),
        Op::Store { .. } | Op::Atomic { .. } => true,
        Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => true,
        _ => false,
    };
    body.stmts.iter().all(|s| matches!(s.op, Op::Store { .. }) || !contains(&s.op, &waits))
}
