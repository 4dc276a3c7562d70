//! Positions as polynomials: what is computed of positions and sizes, and reads that are nothing but another shape.

use super::super::GraphError;
use super::Lift;
use super::value::{AxisId, Value, joined};
use crate::ops::Operator;
use crate::raise::poly::{Poly, Term};
use crate::size::Size;

/// Names of quotients come behind those of axes.
const FIRST_QUOTIENT: u32 = 1 << 30;

impl Lift<'_> {
    /// A position that is computed of others.
    pub(super) fn place(&mut self, operator: Operator, args: &[Value]) -> Option<Poly> {
        let [a, b] = args else { return None };
        let (a, b) = (a.place.clone()?, b.place.clone()?);
        match operator {
            Operator::Add => a.plus(&b, 1),
            Operator::Sub => a.plus(&b, -1),
            Operator::Mul => a.times(&b),
            Operator::Div => Some(self.quotient_of(&a, &b)?.0),
            Operator::Rem => Some(self.quotient_of(&a, &b)?.1),
            _ => None,
        }
    }

    /// The quotient and the remainder by a size or a number.
    fn quotient_of(&mut self, of: &Poly, by: &Poly) -> Option<(Poly, Poly)> {
        if !by.is_uniform() || by.as_number() == Some(0) {
            return None;
        }
        let mut terms = by.terms();
        let (quotient, rest) = match (by.as_number(), terms.next(), terms.next()) {
            (Some(number), _, _) => of.over_number(number),
            (None, Some(term), None) if *by == Poly::term(term) => of.over(term),
            _ => (Poly::default(), of.clone()),
        };
        if self.is_below(&rest, by) {
            return Some((quotient, rest));
        }
        let known = self.quotients.iter().position(|(a, b)| a == of && b == by);
        let number = known.unwrap_or_else(|| {
            self.quotients.push((of.clone(), by.clone()));
            self.quotients.len() - 1
        });
        let quotient = Poly::term(Term::Atom(FIRST_QUOTIENT + number as u32));
        let rest = of.clone().plus(&quotient.times(by)?, -1)?;
        Some((quotient, rest))
    }

    /// Is it at least 0 and less than that, whatever the positions are?
    fn is_below(&self, place: &Poly, bound: &Poly) -> bool {
        if place.as_number() == Some(0) {
            return true;
        }
        if let Some((Term::Atom(axis), 0)) = place.as_shifted()
            && let Some(extent) = self.axes.get(axis as usize)
            && self.poly(extent).as_ref() == Some(bound)
        {
            return true;
        }
        let range = |term: Term| match term {
            Term::Atom(axis) => {
                let extent = self.axes.get(axis as usize)?.constant()?;
                Some((0, i128::from(extent) - 1))
            }
            Term::Size(_) => None,
        };
        let inside = place.range(&range).zip(bound.as_number());
        inside.is_some_and(|((low, high), bound)| low >= 0 && high < bound)
    }

    /// The array in another shape, where it is read from the first element to the last in the order of its axes.
    pub(super) fn reshaped(&mut self, array: &Value, index: &[Value]) -> Result<Option<Value>, GraphError> {
        let shape = self.maker.shape(array.node).to_vec();
        let axes = joined(index);
        let places: Option<Vec<Poly>> = index.iter().map(|place| place.place.clone()).collect();
        let extents = self.extents(&axes);
        let Some(places) = places.filter(|_| array.axes.is_empty()) else { return Ok(None) };
        let own: Vec<Poly> = axes.iter().map(|&AxisId(axis)| Poly::term(Term::Atom(axis))).collect();
        let read = self.flattened(&places, &shape);
        let same = self.is_same(&Size::product(&extents), &Size::product(&shape));
        if !same || read.is_none() || read != self.flattened(&own, &extents) {
            return Ok(None);
        }
        let lengths = self.extents_of(&extents)?;
        let node = self.maker.reshape(array.node, extents, &lengths);
        Ok(Some(Value { node, axes, rank: 0, place: None }))
    }

    /// A position in an array as one number.
    fn flattened(&self, places: &[Poly], shape: &[Size]) -> Option<Poly> {
        let mut flat = Poly::default();
        for (place, size) in places.iter().zip(shape) {
            flat = flat.times(&self.poly(size)?)?.plus(place, 1)?;
        }
        Some(flat)
    }
}
