//! What a condition says about the names in it.
//!
//! `i + 1 < n` bounds `i + 1` by what `n` can be and `n` from below by what `i` can be, and then `i` by way of the sum, if it does
//! not wrap around. It also is a [`Relation`] between the two, for when numbers alone do not tell. `and`, `or` and `not` are taken
//! apart, and so are truth values that came out of branches: `if c { false } else { d }` holds only if `c` does not and `d` does.

use super::range::Range;
use super::walk::{Bound, Relation, Walk};
use crate::code::{Id, Op};
use crate::ops::Operator;
use crate::types::Ty;

/// How far conditions and sums are taken apart.
const DEPTH: u32 = 8;

impl Walk<'_> {
    /// Takes a condition to hold or not; `false` if it cannot.
    pub(super) fn assume(&mut self, cond: Id, truth: bool) -> bool {
        if self.facts.guards {
            self.suppose(cond, truth, DEPTH)
        } else {
            self.refined(cond).meet(Range::new(truth.into(), truth.into())).is_some()
        }
    }

    fn suppose(&mut self, cond: Id, truth: bool, depth: u32) -> bool {
        let wanted = Range::new(truth.into(), truth.into());
        if !self.narrow(cond, wanted, 0) {
            return false;
        }
        let Some(depth) = depth.checked_sub(1) else { return true };
        let is = |walk: &Self, id: Id, truth: bool| walk.refined(id) == Range::new(truth.into(), truth.into());
        match self.name(cond).def {
            Some((Op::Apply(operator @ (Operator::And | Operator::Or), args), _)) => {
                let &[a, b] = &args[..] else { return true };
                // What one alone cannot decide.
                let open = *operator == Operator::And;
                if truth == open {
                    self.suppose(a, truth, depth) && self.suppose(b, truth, depth)
                } else if is(self, a, open) {
                    self.suppose(b, truth, depth)
                } else if is(self, b, open) {
                    self.suppose(a, truth, depth)
                } else {
                    true
                }
            }
            Some((Op::Apply(Operator::Not, args), _)) => self.suppose(args[0], !truth, depth),
            Some((Op::Apply(Operator::Select, args), _)) => match args[..] {
                [cond, yes, no] => self.suppose_either(cond, [yes, no], truth, depth),
                _ => true,
            },
            Some((Op::If { cond, then, otherwise, .. }, k)) => match (then.results.get(k), otherwise.results.get(k)) {
                (Some(&yes), Some(&no)) => self.suppose_either(*cond, [yes, no], truth, depth),
                _ => true,
            },
            Some((Op::Apply(operator, args), _)) => match args[..] {
                [a, b] if !self.ty(a).is_float() => self.compare(*operator, a, b, truth),
                _ => true,
            },
            Some((Op::Check { memory, index }, _)) if truth => {
                let kernel = self.kernel;
                let shape = &kernel.memories[memory.0 as usize].shape;
                index.iter().zip(shape).enumerate().all(|(axis, (&small, size))| {
                    let extent = self.facts.extent(size);
                    self.relations.push(Relation { small, large: Bound::Extent(*memory, axis), gap: 1 });
                    self.narrow(small, Range::new(0, extent.hi - 1), DEPTH)
                })
            }
            _ => true,
        }
    }

    /// One of two, where one of them cannot be what the whole is.
    fn suppose_either(&mut self, cond: Id, [yes, no]: [Id; 2], truth: bool, depth: u32) -> bool {
        let other = Range::new((!truth).into(), (!truth).into());
        if self.name(yes).range == other {
            self.suppose(cond, false, depth) && self.suppose(no, truth, depth)
        } else if self.name(no).range == other {
            self.suppose(cond, true, depth) && self.suppose(yes, truth, depth)
        } else {
            true
        }
    }

    fn compare(&mut self, operator: Operator, a: Id, b: Id, truth: bool) -> bool {
        match (operator, truth) {
            (Operator::Lt, true) | (Operator::Ge, false) => self.ordered(a, b, 1),
            (Operator::Le, true) | (Operator::Gt, false) => self.ordered(a, b, 0),
            (Operator::Gt, true) | (Operator::Le, false) => self.ordered(b, a, 1),
            (Operator::Ge, true) | (Operator::Lt, false) => self.ordered(b, a, 0),
            (Operator::Eq, true) | (Operator::Ne, false) => self.ordered(a, b, 0) && self.ordered(b, a, 0),
            (Operator::Ne, true) | (Operator::Eq, false) => self.apart(a, b) && self.apart(b, a),
            _ => true,
        }
    }

    /// `small + gap <= large`.
    fn ordered(&mut self, small: Id, large: Id, gap: i128) -> bool {
        let below = self.refined(small);
        let above = self.refined(large);
        self.relations.push(Relation { small, large: Bound::Name(large), gap });
        self.narrow(small, Range::new(i128::MIN, above.hi - gap), DEPTH)
            && self.narrow(large, Range::new(below.lo + gap, i128::MAX), DEPTH)
    }

    /// They differ, which says something where one is known and an end of the other.
    fn apart(&mut self, a: Id, b: Id) -> bool {
        let a_range = self.refined(a);
        let b_range = self.refined(b);
        match b_range.lo == b_range.hi {
            true if a_range == b_range => false,
            true if a_range.lo == b_range.lo => self.narrow(a, Range::new(a_range.lo + 1, a_range.hi), DEPTH),
            true if a_range.hi == b_range.hi => self.narrow(a, Range::new(a_range.lo, a_range.hi - 1), DEPTH),
            _ => true,
        }
    }

    /// Takes a name, and by way of it what it is made of, to be inside a range; `false` if it cannot.
    fn narrow(&mut self, id: Id, range: Range, depth: u32) -> bool {
        let id = self.canonical(id);
        let name = self.name(id);
        let Some(new) = self.refined(id).meet(range) else { return false };
        if new != name.range {
            self.set(id, new);
        }
        let (Some(depth), false) = (depth.checked_sub(1), name.ty == Ty::Bool) else { return true };
        match name.def {
            Some((Op::Apply(operator, args), _)) => self.narrow_operands(*operator, name.ty, args, new, depth),
            Some((Op::Cast(_, arg), _)) => {
                let keeps = !self.ty(*arg).is_float() && self.refined(*arg).within(Range::of(name.ty));
                !keeps || self.narrow(*arg, new, depth)
            }
            _ => true,
        }
    }

    fn narrow_operands(&mut self, operator: Operator, ty: Ty, args: &[Id], new: Range, depth: u32) -> bool {
        if self.unwrapped(operator, ty, args, depth).is_none() {
            return true;
        }
        let known = |walk: &Self, id: Id| walk.refined(id).single();
        match (operator, args) {
            (Operator::Add, &[a, b]) => {
                let x = self.refined(a);
                let y = self.refined(b);
                self.narrow(a, Range::new(new.lo - y.hi, new.hi - y.lo), depth)
                    && self.narrow(b, Range::new(new.lo - x.hi, new.hi - x.lo), depth)
            }
            (Operator::Sub, &[a, b]) => {
                let x = self.refined(a);
                let y = self.refined(b);
                self.narrow(a, Range::new(new.lo + y.lo, new.hi + y.hi), depth)
                    && self.narrow(b, Range::new(x.lo - new.hi, x.hi - new.lo), depth)
            }
            (Operator::Mul, &[a, b]) => match (known(self, a), known(self, b)) {
                (_, Some(by)) if by > 0 => self.narrow(a, divided(new, by), depth),
                (Some(by), _) if by > 0 => self.narrow(b, divided(new, by), depth),
                _ => true,
            },
            (Operator::Div, &[a, b]) => match known(self, b) {
                Some(by) if by > 0 && self.refined(a).lo >= 0 => {
                    let lo = new.lo.saturating_mul(by);
                    let hi = new.hi.saturating_mul(by).saturating_add(by - 1);
                    self.narrow(a, Range::new(lo, hi), depth)
                }
                _ => true,
            },
            (Operator::Min, &[a, b]) => {
                let above = Range::new(new.lo, i128::MAX);
                self.narrow(a, above, depth) && self.narrow(b, above, depth)
            }
            (Operator::Max, &[a, b]) => {
                let below = Range::new(i128::MIN, new.hi);
                self.narrow(a, below, depth) && self.narrow(b, below, depth)
            }
            _ => true,
        }
    }
}

/// What times `by` is in the range.
fn divided(range: Range, by: i128) -> Range {
    Range::new(range.lo.div_euclid(by) + i128::from(range.lo.rem_euclid(by) != 0), range.hi.div_euclid(by))
}
