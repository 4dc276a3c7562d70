//! Sums of names: for what ranges alone cannot tell.
//!
//! `i < n` and an array of `n` elements: whatever `n` is, `n - 1 - i` is not negative. A [`LinearForm`] is such a sum with whole
//! coefficients. It is not negative if the smallest that its names can be makes it so, or if what is left when a known relation is
//! taken away is not. A quotient by a number is a name of its own, and the remainder a sum with it, so that
//! `i / 8 * 8 + i % 8` is `i`.

use super::range::{Range, of_type};
use super::walk::{Bound, Relation, Walk};
use crate::code::{Id, MemId, Op};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;

/// How far sums are taken apart, and how many relations one proof takes.
const DEPTH: u32 = 8;
const RELATIONS: u32 = 3;

/// How many forms one proof looks at.
const STEPS: u32 = 400;

#[derive(Clone, Copy, PartialEq)]
enum Term<'k> {
    Name(Id),
    /// A name over a positive number, rounded toward zero.
    Quotient(Id, i128),
    Size(&'k Size),
}

/// A sum of names times numbers, and a number.
#[derive(Clone, Default)]
struct LinearForm<'k> {
    terms: Vec<(Term<'k>, i128)>,
    constant: i128,
}

impl<'k> LinearForm<'k> {
    fn constant(constant: i128) -> LinearForm<'k> {
        LinearForm { terms: vec![], constant }
    }

    fn term(term: Term<'k>) -> LinearForm<'k> {
        LinearForm { terms: vec![(term, 1)], constant: 0 }
    }

    /// Adds another one `times` times; `None` where numbers get too large to think about.
    fn plus(mut self, other: &LinearForm<'k>, times: i128) -> Option<LinearForm<'k>> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (term, by) in &other.terms {
            let by = by.checked_mul(times)?;
            match self.terms.iter().position(|(own, _)| own == term) {
                Some(at) => {
                    self.terms[at].1 = self.terms[at].1.checked_add(by)?;
                    if self.terms[at].1 == 0 {
                        self.terms.swap_remove(at);
                    }
                }
                None if by != 0 => self.terms.push((*term, by)),
                None => {}
            }
        }
        Some(self)
    }
}

impl<'k> Walk<'k> {
    /// Is the element inside the memory?
    pub(crate) fn inside(&self, memory: MemId, index: &[Id]) -> bool {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        index.iter().zip(shape).all(|(&at, size)| {
            let range = self.refined(at);
            let extent = self.facts.extent(size);
            let place = || self.form(at, DEPTH);
            let from_zero = range.lo >= 0 || place().is_some_and(|place| self.holds(place));
            let room = || LinearForm::constant(-1).plus(&self.size_form(size)?, 1)?.plus(&place()?, -1);
            from_zero && (range.hi < extent.lo || room().is_some_and(|room| self.holds(room)))
        })
    }

    fn form(&self, id: Id, depth: u32) -> Option<LinearForm<'k>> {
        let id = self.canonical(id);
        let name = self.name(id);
        let range = self.refined(id);
        if range.lo == range.hi {
            return Some(LinearForm::constant(range.lo));
        }
        let itself = || Some(LinearForm::term(Term::Name(id)));
        let Some(depth) = depth.checked_sub(1) else { return itself() };
        match name.def {
            Some((Op::Extent(size), _)) => self.size_form(size),
            Some((Op::Cast(to, arg), _)) => {
                let keeps = !self.ty(*arg).is_float() && *to != Ty::Bool && self.refined(*arg).within(of_type(*to));
                if keeps { self.form(*arg, depth) } else { itself() }
            }
            Some((Op::Apply(operator, args), _)) if !name.ty.is_float() => {
                // Only what does not wrap around is the sum that it seems.
                let whole = self.unwrapped(*operator, name.ty, args, depth).is_some();
                let made = if whole { self.applied_form(*operator, args, depth) } else { None };
                made.or_else(itself)
            }
            _ => itself(),
        }
    }

    /// The form of an operator that did not wrap around, if it is one of sums.
    fn applied_form(&self, operator: Operator, args: &[Id], depth: u32) -> Option<LinearForm<'k>> {
        let known = |id: Id| self.refined(id).single();
        let form = |id: Id| self.form(id, depth);
        match (operator, args) {
            (Operator::Add, &[a, b]) => form(a)?.plus(&form(b)?, 1),
            (Operator::Sub, &[a, b]) => form(a)?.plus(&form(b)?, -1),
            (Operator::Neg, &[a]) => LinearForm::default().plus(&form(a)?, -1),
            (Operator::Mul, &[a, b]) => match (known(a), known(b)) {
                (_, Some(times)) => LinearForm::default().plus(&form(a)?, times),
                (Some(times), _) => LinearForm::default().plus(&form(b)?, times),
                _ => None,
            },
            (Operator::Fma, &[a, b, c]) => match (known(a), known(b)) {
                (_, Some(times)) => form(c)?.plus(&form(a)?, times),
                (Some(times), _) => form(c)?.plus(&form(b)?, times),
                _ => None,
            },
            (Operator::Shl, &[a, b]) => LinearForm::default().plus(&form(a)?, 1 << known(b)?.clamp(0, 63)),
            (Operator::Div, &[a, b]) => {
                let by = known(b).filter(|&by| by > 0)?;
                Some(LinearForm::term(Term::Quotient(self.canonical(a), by)))
            }
            (Operator::Rem, &[a, b]) => {
                let by = known(b).filter(|&by| by > 0)?;
                form(a)?.plus(&LinearForm::term(Term::Quotient(self.canonical(a), by)), -by)
            }
            _ => None,
        }
    }

    fn size_form(&self, size: &'k Size) -> Option<LinearForm<'k>> {
        let range = self.facts.extent(size);
        if range.lo == range.hi {
            return Some(LinearForm::constant(range.lo));
        }
        match size {
            Size::Add(a, b) => self.size_form(a)?.plus(&self.size_form(b)?, 1),
            Size::Const(_) | Size::Var(_) | Size::Mul(..) | Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => {
                Some(LinearForm::term(Term::Size(size)))
            }
        }
    }

    fn term_range(&self, term: Term) -> Range {
        match term {
            Term::Name(id) => self.refined(id),
            Term::Quotient(id, by) => {
                let range = self.refined(id);
                Range::new(range.lo / by, range.hi / by)
            }
            Term::Size(size) => self.facts.extent(size),
        }
    }

    /// Is it never negative?
    fn holds(&self, form: LinearForm<'k>) -> bool {
        let relations: Vec<LinearForm> =
            self.relations.iter().filter_map(|relation| self.relation_form(relation)).collect();
        self.holds_by(form, &relations, RELATIONS, &mut { STEPS })
    }

    fn relation_form(&self, relation: &Relation) -> Option<LinearForm<'k>> {
        let large = match relation.large {
            Bound::Name(id) => self.form(id, DEPTH)?,
            Bound::Extent(memory, axis) => {
                self.size_form(self.kernel.memories.get(memory.0 as usize)?.shape.get(axis)?)?
            }
        };
        large.plus(&self.form(relation.small, DEPTH)?, -1)?.plus(&LinearForm::constant(-relation.gap), 1)
    }

    fn holds_by(&self, form: LinearForm<'k>, relations: &[LinearForm<'k>], depth: u32, steps: &mut u32) -> bool {
        let least = form.terms.iter().try_fold(form.constant, |sum, &(term, by)| {
            let range = self.term_range(term);
            sum.checked_add(by.checked_mul(if by > 0 { range.lo } else { range.hi })?)
        });
        if least.is_some_and(|least| least >= 0) {
            return true;
        }
        let (Some(depth), Some(left)) = (depth.checked_sub(1), steps.checked_sub(1)) else { return false };
        *steps = left;
        let own: Vec<LinearForm> = form.terms.iter().flat_map(|&(term, by)| self.laws_of(term, by > 0)).collect();
        let by_relation = relations.iter().chain(&own).any(|known| {
            known.terms.iter().any(|(term, known_by)| {
                let by = form.terms.iter().find(|(own, _)| own == term).map_or(0, |(_, by)| *by);
                let times = if by % known_by == 0 { by / known_by } else { 0 };
                times > 0
                    && form.clone().plus(known, -times).is_some_and(|rest| self.holds_by(rest, relations, depth, steps))
            })
        });
        by_relation || self.holds_for_both(&form, relations, depth, steps)
    }

    /// The larger of two is bounded from above where both are, the smaller from below.
    fn holds_for_both(&self, form: &LinearForm<'k>, relations: &[LinearForm<'k>], depth: u32, steps: &mut u32) -> bool {
        form.terms.iter().any(|&(term, by)| {
            let Term::Name(id) = term else { return false };
            let Some((Op::Apply(operator, args), _)) = self.name(id).def else { return false };
            let either = match operator {
                Operator::Max => by < 0,
                Operator::Min => by > 0,
                _ => false,
            };
            either
                && args.iter().all(|&arg| {
                    let arg = self.form(arg, DEPTH).and_then(|arg| arg.plus(&LinearForm::term(term), -1));
                    let instead = arg.and_then(|change| form.clone().plus(&change, by));
                    instead.is_some_and(|instead| self.holds_by(instead, relations, depth, steps))
                })
        })
    }

    /// What a name is made of bounds it: from below where it counts, from above where it is taken away.
    fn laws_of(&self, term: Term<'k>, from_below: bool) -> Vec<LinearForm<'k>> {
        let Term::Name(id) = term else { return vec![] };
        let Some((Op::Apply(operator, args), _)) = self.name(id).def else { return vec![] };
        let itself = LinearForm::term(term);
        let above = |other: Id, less: i128| {
            self.form(other, DEPTH).and_then(|form| form.plus(&itself, -1)?.plus(&LinearForm::constant(-less), 1))
        };
        let below = |other: Id| itself.clone().plus(&self.form(other, DEPTH)?, -1);
        let least = |id: Id| self.refined(id).lo;
        let laws = match (operator, &args[..], from_below) {
            (Operator::Min, &[a, b], false) => vec![above(a, 0), above(b, 0)],
            (Operator::Max, &[a, b], true) => vec![below(a), below(b)],
            (Operator::Rem, &[_, b], false) if least(b) > 0 => vec![above(b, 1)],
            (Operator::Div, &[a, b], false) if least(a) >= 0 && least(b) > 0 => vec![above(a, 0)],
            (Operator::And, &[a, b], false) if least(a) >= 0 && least(b) >= 0 => vec![above(a, 0), above(b, 0)],
            _ => vec![],
        };
        laws.into_iter().flatten().collect()
    }
}
