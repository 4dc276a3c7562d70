//! Guards become bounds: `lanes lo to hi |x| { if x < n { … } }` is `lanes lo to min(hi, n) |x| { … }`.
//!
//! Kernels that people write begin with such a guard, and a loop over exactly the threads that pass it needs no masks. A
//! condition may compare the turn, or the turn moved by a distance, with anything that is the same in all turns; conditions that
//! are the same in all turns stand around the loop. What is neither stays a branch inside.

use super::write::WeaveWriter;
use crate::code::{Body, Id, Op, Place, Stmt, Var};
use crate::launch::MOST_THREADS;
use crate::ops::Operator;
use crate::ranges::{Range, exact};
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};
use std::collections::{HashMap, HashSet};

/// Writes lanes over the turns `lo..hi`.
pub(super) fn lanes(w: &mut WeaveWriter, bounds: [Id; 2], turn: Var, stmts: Vec<Stmt>) {
    if !stmts.iter().any(|s| s.op.has_effect()) {
        return;
    }
    let Trimmed { bounds: [lo, hi], stmts, around } = trimmed(w, bounds, turn.id, stmts);
    let lanes = Op::Lanes { lo, hi, body: Body { params: vec![turn], stmts, results: vec![] }, monoid: None };
    match around {
        Some(cond) => w.when(cond, |w| w.act(lanes)),
        None => w.act(lanes),
    }
}

/// A loop without its guard.
pub(super) struct Trimmed {
    pub(super) bounds: [Id; 2],
    pub(super) stmts: Vec<Stmt>,
    /// Where the loop runs at all, if that is asked.
    pub(super) around: Option<Id>,
}

/// Makes bounds of the guard around the statements of a loop.
pub(super) fn trimmed(w: &mut WeaveWriter, [mut lo, mut hi]: [Id; 2], turn: Id, mut stmts: Vec<Stmt>) -> Trimmed {
    let mut around = vec![];
    while let Some(guard) = Guard::of(&stmts, turn, w) {
        let Some(Stmt { op: Op::If { args, then, otherwise, .. }, .. }) = stmts.pop() else {
            unreachable!("a guard ends with its branch")
        };
        // What is the same in all turns is computed before them.
        stmts.retain(|s| {
            let moves = s.binds.iter().any(|b| guard.same.contains(&b.id));
            if moves {
                w.out.push(s.clone());
            }
            !moves
        });
        for bound in &guard.bounds {
            let at = |w: &mut WeaveWriter, more: i64| {
                let by = bound.moved.map_or(bound.end, |by| w.value(bound.end - by));
                let one = w.number(more);
                if more == 0 { by } else { w.value(by + one) }
            };
            match bound.test {
                Operator::Lt => hi = at(w, 0).min_with(w, hi),
                Operator::Le => hi = at(w, 1).min_with(w, hi),
                Operator::Ge => lo = at(w, 0).max_with(w, lo),
                Operator::Gt => lo = at(w, 1).max_with(w, lo),
                _ => {
                    lo = at(w, 0).max_with(w, lo);
                    hi = at(w, 1).min_with(w, hi);
                }
            }
        }
        for (cond, holds) in &guard.uniform {
            around.push(if *holds { *cond } else { w.push(Op::Apply(Operator::Not, vec![*cond]), Ty::Bool) });
        }
        let inner = if guard.holds { then } else { otherwise };
        let names: HashMap<Id, Id> = inner.params.iter().map(|p| p.id).zip(args).collect();
        let mut inner = Body { params: vec![], ..inner };
        inner.each_use_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
        match guard.rest(w, &mut stmts) {
            None => stmts.extend(inner.stmts),
            Some(cond) => {
                let op = Op::If { cond, args: vec![], then: inner, otherwise: Body::default() };
                stmts.push(Stmt { binds: vec![], op });
                break;
            }
        }
    }
    let around = around.into_iter().reduce(|a, b| w.value(a.and(b)));
    Trimmed { bounds: [lo, hi], stmts, around }
}

trait Bounds {
    fn min_with(self, w: &mut WeaveWriter, other: Id) -> Id;
    fn max_with(self, w: &mut WeaveWriter, other: Id) -> Id;
}

impl Bounds for Id {
    fn min_with(self, w: &mut WeaveWriter, other: Id) -> Id {
        w.value(other.least(self))
    }

    fn max_with(self, w: &mut WeaveWriter, other: Id) -> Id {
        w.value(other.most(self))
    }
}

/// `turn + moved test end`.
struct Bound {
    test: Operator,
    moved: Option<Id>,
    end: Id,
}

/// A branch at the end of a body of lanes, one side of it empty, and nothing else with an effect.
struct Guard {
    /// The side that does something runs where the condition holds.
    holds: bool,
    /// Statements that are the same in all turns.
    same: HashSet<Id>,
    bounds: Vec<Bound>,
    /// Conditions that are the same in all turns.
    uniform: Vec<(Id, bool)>,
    /// All others.
    others: Vec<(Id, bool)>,
}

impl Guard {
    fn of(stmts: &[Stmt], turn: Id, w: &WeaveWriter) -> Option<Guard> {
        let (last, prefix) = stmts.split_last()?;
        let Op::If { cond, then, otherwise, .. } = &last.op else { return None };
        let holds = otherwise.stmts.is_empty();
        if !last.binds.is_empty() || holds == then.stmts.is_empty() || prefix.iter().any(|s| s.op.has_effect()) {
            return None;
        }
        let mut scope = Scope { turn, w, varies: HashSet::from([turn]) };
        prefix.iter().for_each(|s| scope.add(s));
        let same = prefix.iter().flat_map(|s| &s.binds).map(|b| b.id).filter(|id| !scope.varies.contains(id)).collect();
        let mut guard = Guard { holds, same, bounds: vec![], uniform: vec![], others: vec![] };
        let mut terms = vec![];
        scope.terms(*cond, holds, &mut terms);
        for (term, holds) in terms {
            if !scope.varies.contains(&term) {
                guard.uniform.push((term, holds));
            } else if let Some(bound) = scope.bound(term, holds) {
                guard.bounds.push(bound);
            } else {
                guard.others.push((term, holds));
            }
        }
        (!guard.bounds.is_empty() || !guard.uniform.is_empty()).then_some(guard)
    }

    /// What is still to be asked in each turn.
    fn rest(&self, w: &mut WeaveWriter, stmts: &mut Vec<Stmt>) -> Option<Id> {
        let around = w.begin();
        let mut all = None;
        for &(term, holds) in &self.others {
            let term = if holds { term } else { w.push(Op::Apply(Operator::Not, vec![term]), Ty::Bool) };
            all = Some(all.map_or(term, |a: Id| w.value(a.and(term))));
        }
        stmts.append(&mut w.end(around));
        all
    }
}

/// What the statements before a guard say.
struct Scope<'s> {
    turn: Id,
    w: &'s WeaveWriter,
    varies: HashSet<Id>,
}

impl Scope<'_> {
    fn add(&mut self, stmt: &Stmt) {
        let mut varies = match &stmt.op {
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Place(..) => false,
            // Anything else stays where it is.
            _ => true,
        };
        stmt.op.each_operand(&mut |id| varies |= self.varies.contains(&id));
        if varies {
            self.varies.extend(stmt.binds.iter().map(|b| b.id));
        }
    }

    /// The conditions that all hold where this one does (or does not).
    fn terms(&self, cond: Id, holds: bool, found: &mut Vec<(Id, bool)>) {
        let constant =
            |id: &Id, value: bool| matches!(self.w.known.get(id), Some(Op::Const(c)) if *c == Scalar::bool(value));
        match self.w.known.get(&cond) {
            Some(Op::Apply(Operator::Not, args)) => self.terms(args[0], !holds, found),
            Some(Op::Apply(Operator::And, args)) if holds => args.iter().for_each(|&a| self.terms(a, true, found)),
            Some(Op::Apply(Operator::Or, args)) if !holds => args.iter().for_each(|&a| self.terms(a, false, found)),
            Some(Op::Apply(Operator::Select, args)) if holds && constant(&args[2], false) => {
                args[..2].iter().for_each(|&a| self.terms(a, true, found))
            }
            Some(Op::Apply(Operator::Select, args)) if !holds && constant(&args[1], true) => {
                [args[0], args[2]].into_iter().for_each(|a| self.terms(a, false, found))
            }
            _ => found.push((cond, holds)),
        }
    }

    fn bound(&self, term: Id, holds: bool) -> Option<Bound> {
        use Operator::{Eq, Ge, Gt, Le, Lt, Ne};
        let Some(Op::Apply(test, args)) = self.w.known.get(&term) else { return None };
        let [a, b] = args[..] else { return None };
        let test = match (test, holds) {
            (Lt, true) | (Ge, false) => Lt,
            (Le, true) | (Gt, false) => Le,
            (Gt, true) | (Le, false) => Gt,
            (Ge, true) | (Lt, false) => Ge,
            (Eq, true) | (Ne, false) => Eq,
            _ => return None,
        };
        let turned = match test {
            Lt => Gt,
            Le => Ge,
            Gt => Lt,
            Ge => Le,
            other => other,
        };
        let (test, moved, end) = match (self.moved(a), self.moved(b)) {
            (Some(moved), None) if !self.varies.contains(&b) => (test, moved, b),
            (None, Some(moved)) if !self.varies.contains(&a) => (turned, moved, a),
            _ => return None,
        };
        // The arithmetic on the bound must not wrap around where the comparison does not.
        let plain = moved.is_none() && matches!(test, Lt | Ge);
        let far = |id: Option<Id>| id.map_or(Some(Range::new(0, 0)), |id| self.range(id, 16));
        let safe = || {
            let end = self.range(end, 16)?;
            let by = far(moved)?;
            let inside = |x: i128| (i128::from(i64::MIN) + 1 < x && x < i128::from(i64::MAX)).then_some(());
            inside(end.lo - by.hi).and(inside(end.hi - by.lo))
        };
        (plain || safe().is_some()).then_some(Bound { test, moved, end })
    }

    /// For the turn itself, or the turn and something that is the same in all turns: that.
    fn moved(&self, id: Id) -> Option<Option<Id>> {
        if id == self.turn {
            return Some(None);
        }
        match self.w.known.get(&id)? {
            Op::Apply(Operator::Add, args) => match args[..] {
                [a, b] if a == self.turn && !self.varies.contains(&b) => Some(Some(b)),
                [a, b] if b == self.turn && !self.varies.contains(&a) => Some(Some(a)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a value can be, if that is less than anything. The kernel is being made, so its definitions are all that there is to ask.
    fn range(&self, id: Id, depth: usize) -> Option<Range> {
        let depth = depth.checked_sub(1)?;
        let range = match self.w.known.get(&id)? {
            Op::Const(c) if c.ty == Ty::I64 => Range::new(c.as_int(), c.as_int()),
            Op::Extent(size) => size.constant().map_or(Range::new(0, 1 << 62), |n| Range::new(n.into(), n.into())),
            Op::Place(Place::Block | Place::GridDim, _) => Range::new(0, MOST_THREADS.into()),
            Op::Cast(Ty::I64, arg) => {
                let ty = *self.w.types.get(arg)?;
                if ty.is_float() || ty.bits() > 32 {
                    return None;
                }
                Range::of(ty)
            }
            Op::Apply(operator @ (Operator::Add | Operator::Sub | Operator::Mul), args) => {
                let args: Option<Vec<Range>> = args.iter().map(|&arg| self.range(arg, depth)).collect();
                exact(*operator, &args?)?
            }
            _ => return None,
        };
        range.within(Range::FULL).then_some(range)
    }
}
