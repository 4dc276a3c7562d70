//! What the state of a loop can be, so that counters of people's loops fit 32-bit lanes.
//!
//! A state that a counted loop changes by known amounts stays within turns times that of where it starts. A state that the condition
//! of a `while` keeps below (or above) a bound is never more than one turn past it.

use super::value::Value;
use super::writer::Writer;
use crate::back::range::{self, Range};
use crate::code::{Body, Id, Op, Stmt};
use crate::ops::Operator;
use crate::types::{Scalar, Ty, int_range};

/// What a state can be, before and after turns as well as at the start of one.
pub(super) struct Bounds {
    pub(super) ever: (i128, i128),
    pub(super) inside: (i128, i128),
}

/// Looks at the code of a loop before it is written.
struct Look<'l, 'w> {
    w: &'l Writer<'w>,
    bodies: Vec<&'l Body>,
    /// The state in question, and what it is.
    state: Id,
    known: Option<Range>,
}

impl<'l> Look<'l, '_> {
    fn stmt(&self, id: Id) -> Option<(&'l Stmt, usize)> {
        let stmts = self.bodies.iter().flat_map(|body| &body.stmts);
        stmts.filter_map(|s| Some((s, s.binds.iter().position(|b| b.id == id)?))).next()
    }

    /// The two sides of a branch that give a value.
    fn sides(&self, id: Id) -> Option<[(Look<'l, '_>, Id); 2]> {
        let (Stmt { op: Op::If { args, then, otherwise, .. }, .. }, k) = self.stmt(id)? else { return None };
        Some([then, otherwise].map(|side| {
            let bodies = [&self.bodies[..], &[side]].concat();
            // The state under the name it has there.
            let passed = args.iter().position(|arg| *arg == self.state).and_then(|at| side.params.get(at));
            let state = match passed {
                Some(param) if !mentions(side, self.state) => param.id,
                _ => self.state,
            };
            (Look { w: self.w, bodies, state, known: self.known }, side.results[k])
        }))
    }

    fn range(&self, id: Id, depth: usize) -> Option<Range> {
        let depth = depth.checked_sub(1)?;
        if id == self.state {
            return self.known;
        }
        if let Some(value) = self.w.values.get(&id).filter(|_| self.stmt(id).is_none()) {
            return value.range.map(|(low, high)| Range::new(low, high));
        }
        let (stmt, _) = self.stmt(id)?;
        let found = match &stmt.op {
            Op::Const(value) if value.ty.is_int() => Range::new(value.as_int(), value.as_int()),
            Op::Apply(operator, args) if stmt.binds[0].ty.elem() == Ty::I64 => {
                let args: Option<Vec<Range>> = match operator {
                    Operator::Select => {
                        let sides: Option<Vec<Range>> = args[1..].iter().map(|&a| self.range(a, depth)).collect();
                        sides.map(|sides| [&[Range::new(0, 1)], &sides[..]].concat())
                    }
                    _ => args.iter().map(|&a| self.range(a, depth)).collect(),
                };
                range::exact(*operator, &args?)?
            }
            Op::Cast(Ty::I64, arg) => {
                let ty = self.stmt(*arg).map(|(s, k)| s.binds[k].ty.elem());
                let ty = ty.or_else(|| self.w.values.get(arg).map(|v| v.ty))?;
                match ty {
                    Ty::Bool => Range::new(0, 1),
                    ty if ty.is_int() && ty.bits() < 64 => Range::new(int_range(ty).0, int_range(ty).1),
                    _ => return None,
                }
            }
            Op::If { .. } => {
                let [(a, x), (b, y)] = self.sides(id)?;
                a.range(x, depth)?.union(b.range(y, depth)?)
            }
            _ => return None,
        };
        found.within(Range::FULL).then_some(found)
    }

    /// What a turn adds to the state.
    fn growth(&self, id: Id, depth: usize) -> Option<Range> {
        let depth = depth.checked_sub(1)?;
        if id == self.state {
            return Some(Range::new(0, 0));
        }
        let (stmt, _) = self.stmt(id)?;
        match &stmt.op {
            Op::Apply(operator @ (Operator::Add | Operator::Sub), args) => {
                let grown = |a: Id, b: Id| range::exact(*operator, &[self.growth(a, depth)?, self.range(b, depth)?]);
                let turned = || match operator {
                    Operator::Add => grown(args[1], args[0]),
                    _ => None,
                };
                grown(args[0], args[1]).or_else(turned)
            }
            Op::Apply(Operator::Select, args) => Some(self.growth(args[1], depth)?.union(self.growth(args[2], depth)?)),
            Op::If { .. } => {
                let [(a, x), (b, y)] = self.sides(id)?;
                Some(a.growth(x, depth)?.union(b.growth(y, depth)?))
            }
            _ => None,
        }
    }

    /// Bounds that the condition puts on the state: above what it is, and below what.
    fn limits(&self, cond: Id, depth: usize, found: &mut [Option<i128>; 2]) {
        let (Some(depth), Some((stmt, _))) = (depth.checked_sub(1), self.stmt(cond)) else { return };
        let no =
            |id: Id| matches!(self.stmt(id), Some((Stmt { op: Op::Const(c), .. }, _)) if *c == Scalar::bool(false));
        let Op::Apply(operator, args) = &stmt.op else { return };
        use Operator::{And, Ge, Gt, Le, Lt, Select};
        let (a, b) = (args[0], args.get(1).copied());
        match (operator, b) {
            (And, Some(b)) => {
                self.limits(a, depth, found);
                self.limits(b, depth, found);
            }
            (Select, Some(b)) if no(args[2]) => {
                self.limits(a, depth, found);
                self.limits(b, depth, found);
            }
            (Lt | Le | Gt | Ge, Some(b)) => {
                let (below, other) = match (a == self.state, b == self.state) {
                    (true, false) => (matches!(operator, Lt | Le), b),
                    (false, true) => (matches!(operator, Gt | Ge), a),
                    _ => return,
                };
                let equal = i128::from(matches!(operator, Le | Ge));
                let Some(limit) = self.range(other, depth) else { return };
                if below {
                    found[1] = Some(limit.hi - 1 + equal);
                } else {
                    found[0] = Some(limit.lo + 1 - equal);
                }
            }
            _ => {}
        }
    }
}

fn mentions(body: &Body, id: Id) -> bool {
    let mut found = false;
    body.each_free(&mut |free| found |= free == id);
    found
}

fn small(ever: Range, inside: Range) -> Option<Bounds> {
    let fits = ever.within(Range::of(Ty::I32)) && inside.within(ever);
    fits.then_some(Bounds { ever: (ever.lo, ever.hi), inside: (inside.lo, inside.hi) })
}

/// The slots of a loop as its body finds them.
pub(super) fn inside(slots: &[Value], bounds: &[Option<Bounds>]) -> Vec<Value> {
    let one = |(slot, bounds): (&Value, &Option<Bounds>)| match bounds {
        Some(bounds) => slot.clone().within(Some(bounds.inside)),
        None => slot.clone(),
    };
    slots.iter().zip(bounds).map(one).collect()
}

fn start(init: &Value) -> Option<Range> {
    init.range.filter(|_| init.ty == Ty::I64).map(|(low, high)| Range::new(low, high))
}

/// What each state of a counted loop can be, where that is small.
pub(super) fn counted(w: &Writer, bounds: [&Value; 3], init: &[Value], body: &Body) -> Vec<Option<Bounds>> {
    let turns = match (bounds[0].range, bounds[1].range) {
        (Some(lo), Some(hi)) => Some((hi.1 - lo.0).max(0)),
        _ => None,
    };
    let one = |k: usize, init: &Value| {
        let look = Look { w, bodies: vec![body], state: body.params[k + 1].id, known: None };
        let (start, growth, turns) = (start(init)?, look.growth(body.results[k], 16)?, turns?);
        let (down, up) = (growth.lo.min(0).checked_mul(turns)?, growth.hi.max(0).checked_mul(turns)?);
        // At the start of the last turn there is one turn to go.
        let inside = match turns {
            0 => start,
            turns => Range::new(start.lo + down / turns * (turns - 1), start.hi + up / turns * (turns - 1)),
        };
        small(Range::new(start.lo + down, start.hi + up), inside)
    };
    init.iter().enumerate().map(|(k, init)| one(k, init)).collect()
}

/// What each state of a `while` can be, where that is small.
pub(super) fn asked(w: &Writer, init: &[Value], cond: &Body, body: &Body) -> Vec<Option<Bounds>> {
    let one = |k: usize, init: &Value| {
        let start = start(init)?;
        let asks = Look { w, bodies: vec![cond], state: cond.params[k].id, known: None };
        let mut limits = [None; 2];
        asks.limits(cond.results[0], 16, &mut limits);
        let inside = Range::new(limits[0].unwrap_or(start.lo), limits[1].unwrap_or(start.hi));
        if limits == [None; 2] || inside.lo > inside.hi {
            return None;
        }
        let look = Look { w, bodies: vec![body], state: body.params[k].id, known: Some(inside) };
        let next = look.range(body.results[k], 16)?;
        // A side without a bound must be left alone.
        let holds = (limits[0].is_some() || next.lo >= start.lo) && (limits[1].is_some() || next.hi <= start.hi);
        let ever = start.union(next);
        let inside = Range::new(inside.lo.max(ever.lo), inside.hi.min(ever.hi));
        small(ever, inside).filter(|_| holds && inside.lo <= inside.hi)
    };
    init.iter().enumerate().map(|(k, init)| one(k, init)).collect()
}
