//! What loops carry.
//!
//! It is found by walking their bodies quietly until nothing new turns up: twice as it comes, then with the ends that
//! still move taken to be anywhere, and then, since conditions inside the loop may bring them back, from what that gave. What a counted
//! loop adds in each turn is known better, by the number of turns. Where the walk is tired, a loop carries anything.

use super::range::{Range, exact, of_type};
use super::walk::{Bound, DEPTH, Relation, Walk};
use crate::code::{Body, Id, Op, Stmt, Var};
use crate::ops::Operator;
use crate::types::Ty;

/// A loop, and what surrounds its state.
#[derive(Clone, Copy)]
enum Loop<'k> {
    Counted { counter: Range, bounds: [Id; 2], body: &'k Body },
    While { cond: &'k Body, body: &'k Body },
}

impl<'k> Loop<'k> {
    /// The parameters that hold the state.
    fn state(self) -> &'k [Var] {
        match self {
            Loop::Counted { body, .. } => body.params.get(1..).unwrap_or_default(),
            Loop::While { cond, .. } => &cond.params,
        }
    }

    fn results(self) -> &'k [Id] {
        let (Loop::Counted { body, .. } | Loop::While { body, .. }) = self;
        &body.results
    }
}

/// What a loop carries: in its turns, and behind it where that is known better.
struct Carried {
    inside: Vec<Range>,
    behind: Vec<Option<Range>>,
}

impl<'k> Walk<'k> {
    pub(super) fn count(&mut self, stmt: &'k Stmt, [lo, hi, step]: [Id; 3], init: &[Id], body: &'k Body) -> bool {
        let first = self.refined(lo);
        let end = self.refined(hi);
        let by = self.refined(step);
        let by = Range::new(by.lo.max(1), by.hi.max(1));
        let start: Vec<Range> = init.iter().map(|&id| self.refined(id)).collect();
        if first.lo >= end.hi {
            self.define_all(&stmt.binds, start.into_iter());
            return true;
        }
        let mut last = end.hi - 1;
        if first.lo == first.hi && by.lo == by.hi {
            last = first.lo + (last - first.lo) / by.lo * by.lo;
        }
        let turns = (end.hi - 1 - first.lo) / by.lo + 1;
        let counted = Loop::Counted { counter: Range::new(first.lo, last), bounds: [lo, hi], body };
        let carried = self.carried(counted, &start, Some(turns));
        let next = self.turn(counted, &carried.inside).unwrap_or_else(|| start.clone());
        let behind = start.iter().zip(&next).zip(&carried.behind);
        let behind: Vec<Range> = behind.map(|((start, next), known)| known.unwrap_or(start.union(*next))).collect();
        self.define_all(&stmt.binds, behind.into_iter());
        true
    }

    pub(super) fn repeat(&mut self, stmt: &'k Stmt, init: &[Id], cond: &'k Body, body: &'k Body) -> bool {
        let start: Vec<Range> = init.iter().map(|&id| self.refined(id)).collect();
        let looped = Loop::While { cond, body };
        let Carried { inside, .. } = self.carried(looped, &start, None);
        self.turn(looped, &inside);
        // The end: the condition is asked once more, and does not hold.
        let quiet = std::mem::replace(&mut self.quiet, true);
        let mark = self.mark();
        self.define_all(&cond.params, inside.iter().copied());
        let mut behind = inside.clone();
        let again = self.fuel > 0 && self.body(cond);
        if again && cond.results.first().is_some_and(|&holds| self.assume(holds, false)) {
            behind = cond.params.iter().map(|param| self.refined(param.id)).collect();
        }
        self.back_to(mark);
        self.quiet = quiet;
        self.define_all(&stmt.binds, behind.into_iter());
        true
    }

    /// One turn from a state to the next; `None` if there is none.
    fn turn(&mut self, looped: Loop<'k>, state: &[Range]) -> Option<Vec<Range>> {
        let mark = self.mark();
        self.define_all(looped.state(), state.iter().copied());
        let done = match looped {
            Loop::Counted { counter, bounds: [lo, hi], body } => {
                if let Some(param) = body.params.first() {
                    self.define(param.id, counter);
                    let lo = self.canonical(lo);
                    let at = param.id;
                    self.relations.push(Relation { small: lo, large: Bound::Name(at), gap: 0 });
                    self.relations.push(Relation { small: at, large: Bound::Name(hi), gap: 1 });
                }
                self.body(body)
            }
            Loop::While { cond, body } => {
                let params: Vec<Id> = cond.params.iter().map(|p| p.id).collect();
                self.body(cond) && cond.results.first().is_some_and(|&holds| self.assume(holds, true)) && {
                    self.call_the_same(&body.params, &params);
                    self.body(body)
                }
            }
        };
        let next = done.then(|| looped.results().iter().map(|&id| self.refined(id)).collect());
        self.back_to(mark);
        next
    }

    /// What a loop carries of which nobody has the time to find out.
    fn anything_of(&self, looped: Loop<'k>) -> Carried {
        let inside: Vec<Range> = looped.state().iter().map(|param| of_type(self.ty(param.id))).collect();
        Carried { behind: vec![None; inside.len()], inside }
    }

    /// What the loop carries, whatever turn it is in.
    fn carried(&mut self, looped: Loop<'k>, start: &[Range], turns: Option<i128>) -> Carried {
        let mut carried = Carried { inside: start.to_vec(), behind: vec![None; start.len()] };
        if looped.state().iter().all(|param| self.ty(param.id).is_float()) {
            return carried;
        }
        if self.fuel == 0 {
            return self.anything_of(looped);
        }
        let quiet = std::mem::replace(&mut self.quiet, true);
        for round in 0.. {
            let Some(next) = self.turn(looped, &carried.inside) else { break };
            let more: Vec<Range> = carried.inside.iter().zip(&next).map(|(a, b)| a.union(*b)).collect();
            if more == carried.inside {
                break;
            }
            let types = looped.state().iter().map(|param| of_type(self.ty(param.id)));
            let widened = carried.inside.iter().zip(&more).zip(types).map(|((old, new), ty)| match round {
                0 | 1 => *new,
                _ => Range::new(
                    if new.lo < old.lo { ty.lo } else { new.lo },
                    if new.hi > old.hi { ty.hi } else { new.hi },
                ),
            });
            carried.inside = widened.collect();
            if self.fuel == 0 {
                self.quiet = quiet;
                return self.anything_of(looped);
            }
        }
        if let Some(turns) = turns {
            self.by_steps(looped, start, turns, &mut carried);
        }
        // Back from the ends, as long as what is found holds by itself.
        let narrower = |inside: &[Range], next: Vec<Range>, behind: &[Option<Range>]| -> Vec<Range> {
            let each = inside.iter().zip(start).zip(next).zip(behind);
            each.map(|(((inside, start), next), known)| match known {
                Some(_) => *inside,
                None => start.union(next).meet(*inside).unwrap_or(*inside),
            })
            .collect()
        };
        if let Some(next) = self.turn(looped, &carried.inside) {
            let mut found = narrower(&carried.inside, next, &carried.behind);
            for _ in 0..2 {
                if found == carried.inside {
                    break;
                }
                let Some(next) = self.turn(looped, &found) else { break };
                let stays = found.iter().zip(&next).zip(start).zip(&carried.behind);
                let stays = stays.into_iter().all(|(((found, next), start), known)| {
                    known.is_some() || next.within(*found) && start.within(*found)
                });
                if !stays {
                    break;
                }
                let after = narrower(&found, next, &carried.behind);
                carried.inside = found;
                found = after;
            }
        }
        self.quiet = quiet;
        carried
    }

    /// States of a counted loop to which each turn adds something: so often, and no more.
    fn by_steps(&self, looped: Loop<'k>, start: &[Range], turns: i128, carried: &mut Carried) {
        for (k, (param, &result)) in looped.state().iter().zip(looped.results()).enumerate() {
            let ty = self.ty(param.id);
            if ty.is_float() || ty == Ty::Bool || carried.inside[k] == start[k] {
                continue;
            }
            let Some(by) = self.added(result, param.id, DEPTH) else { continue };
            let after = |turns: i128| {
                let down = by.lo.min(0).checked_mul(turns)?;
                let up = by.hi.max(0).checked_mul(turns)?;
                Some(Range::new(start[k].lo.checked_add(down)?, start[k].hi.checked_add(up)?))
            };
            let (Some(inside), Some(behind)) = (after(turns - 1), after(turns)) else { continue };
            if behind.within(of_type(ty)) {
                carried.inside[k] = inside.meet(carried.inside[k]).unwrap_or(inside);
                carried.behind[k] = Some(behind);
            }
        }
    }

    /// What has been added to `base` to make `id`. Sums wrap around and come back, so only their ends matter.
    fn added(&self, id: Id, base: Id, depth: u32) -> Option<Range> {
        let id = self.canonical(id);
        if id == base {
            return Some(Range::new(0, 0));
        }
        let depth = depth.checked_sub(1)?;
        let either = |a: Id, b: Id| Some(self.added(a, base, depth)?.union(self.added(b, base, depth)?));
        match self.name(id).def? {
            (Op::Apply(Operator::Add, args), _) => match (self.added(args[0], base, depth), &args[..]) {
                (Some(a), [_, b]) => exact(Operator::Add, &[a, self.refined(*b)]),
                (None, [a, b]) => exact(Operator::Add, &[self.added(*b, base, depth)?, self.refined(*a)]),
                _ => None,
            },
            (Op::Apply(Operator::Sub, args), _) => {
                exact(Operator::Sub, &[self.added(args[0], base, depth)?, self.refined(args[1])])
            }
            (Op::Apply(Operator::Select, args), _) => either(args[1], args[2]),
            (Op::If { then, otherwise, .. }, k) => either(*then.results.get(k)?, *otherwise.results.get(k)?),
            _ => None,
        }
    }
}
