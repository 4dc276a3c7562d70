//! Reads: the elements of an array at the positions of a body, all at once.
//!
//! An axis that is read at its own position stays; one that is read from a place on becomes a slice; others are gathered, axis by axis,
//! or, where positions hang together as in `x[i, i]`, as positions of the whole array.

use super::super::{GraphError, NodeId};
use super::Lift;
use super::value::{AxisId, Value, joined};
use crate::ops::Operator;
use crate::raise::poly::{Poly, Term};
use crate::size::Size;

/// How an axis is read.
enum Way {
    /// At the position of an axis of the same extent.
    Whole(AxisId),
    /// The same from a place on, which depends on sizes alone.
    From(AxisId, Poly),
    /// At places that are computed.
    Computed,
}

impl Lift<'_> {
    pub(super) fn read(&mut self, array: &Value, index: &[Value]) -> Result<Value, GraphError> {
        if let Some(value) = self.reshaped(array, index)? {
            return Ok(value);
        }
        let mut seen: Vec<AxisId> = array.axes.clone();
        seen.extend(index.iter().flat_map(|place| &place.axes));
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() != count {
            return self.flat(array, index);
        }
        let value = self.axis_by_axis(array, index)?;
        self.note_window(array, index, &value);
        Ok(value)
    }

    fn way(&self, place: &Value, size: &Size) -> Way {
        let [axis] = place.axes[..] else { return Way::Computed };
        let Some(poly) = &place.place else { return Way::Computed };
        let (factor, rest) = poly.over(Term::Atom(axis.0));
        if factor.as_number() != Some(1) || !rest.is_uniform() {
            return Way::Computed;
        }
        if rest.as_number() == Some(0) && self.is_same(&self.axes[axis.0 as usize], size) {
            return Way::Whole(axis);
        }
        if self.masked { Way::Computed } else { Way::From(axis, rest) }
    }

    fn axis_by_axis(&mut self, array: &Value, index: &[Value]) -> Result<Value, GraphError> {
        let mut node = array.node;
        let mut order: Vec<AxisId> = array.axes.clone();
        let before = order.len();
        let mut behind: Vec<Vec<AxisId>> = vec![];
        // From the last axis on, so that those in front keep their places.
        for (k, place) in index.iter().enumerate().rev() {
            let at = before + k;
            let size = self.maker.shape(array.node)[at].clone();
            match self.way(place, &size) {
                Way::Whole(axis) => behind.push(vec![axis]),
                Way::From(axis, start) => {
                    let extent = self.axes[axis.0 as usize].clone();
                    let from = self.number(&start)?;
                    let length = self.extent(&extent)?;
                    let to = self.maker.apply(Operator::Add, &[from, length]);
                    node = self.maker.slice(node, at, from, to, extent);
                    behind.push(vec![axis]);
                }
                Way::Computed => {
                    let places = self.inside(place.node, &size)?;
                    node = self.maker.gather(node, places, at);
                    behind.push(place.axes.clone());
                }
            }
        }
        order.extend(behind.into_iter().rev().flatten());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let places = sorted.iter().filter_map(|axis| order.iter().position(|other| other == axis)).collect();
        Ok(Value { node: self.maker.transpose(node, places), axes: sorted, rank: 0, place: None })
    }

    /// All axes as one, read at positions in it.
    fn flat(&mut self, array: &Value, index: &[Value]) -> Result<Value, GraphError> {
        let shape = self.maker.shape(array.node).to_vec();
        let mut places: Vec<Value> = vec![];
        for &axis in &array.axes {
            places.push(self.position(axis)?);
        }
        for (place, size) in index.iter().zip(&shape[array.axes.len()..]) {
            places.push(Value { node: self.inside(place.node, size)?, ..place.clone() });
        }
        let axes = joined(&places);
        let flat = self.flat_place(&places, &shape, &axes)?;
        let line = self.line(array.node)?;
        Ok(Value { node: self.maker.gather(line, flat, 0), axes, rank: 0, place: None })
    }

    /// Positions in an array of that shape as one number.
    pub(super) fn flat_place(
        &mut self,
        places: &[Value],
        shape: &[Size],
        axes: &[AxisId],
    ) -> Result<NodeId, GraphError> {
        let mut flat: Option<NodeId> = None;
        for (place, size) in places.iter().zip(shape) {
            let place = self.aligned(place, axes, 0);
            let extent = self.extent(size)?;
            flat = Some(match flat {
                None => place,
                Some(rows) => {
                    let rows = self.maker.apply(Operator::Mul, &[rows, extent]);
                    self.maker.apply(Operator::Add, &[rows, place])
                }
            });
        }
        Ok(flat.unwrap_or_else(|| self.maker.i64(0)))
    }

    /// An array as one line.
    pub(super) fn line(&mut self, array: NodeId) -> Result<NodeId, GraphError> {
        let shape = self.maker.shape(array).to_vec();
        let all = self.known(&Size::product(&shape));
        let extent = self.extent(&all)?;
        Ok(self.maker.reshape(array, vec![all], &[extent]))
    }

    /// Places that are inside, also where nobody will look at what is read.
    fn inside(&mut self, places: NodeId, size: &Size) -> Result<NodeId, GraphError> {
        if !self.masked || self.maker.as_i64(places).is_some_and(|at| size.constant().is_some_and(|n| (at as u64) < n))
        {
            return Ok(places);
        }
        let extent = self.extent(size)?;
        let one = self.maker.i64(1);
        let zero = self.maker.i64(0);
        let last = self.maker.apply(Operator::Sub, &[extent, one]);
        let below = self.maker.apply(Operator::Min, &[places, last]);
        Ok(self.maker.apply(Operator::Max, &[below, zero]))
    }

    /// The value of a sum of sizes.
    pub(super) fn number(&mut self, poly: &Poly) -> Result<NodeId, GraphError> {
        let mut sum = self.maker.i64(0);
        for (product, by) in poly.products() {
            let mut part = self.maker.i64(i64::try_from(by).unwrap_or(i64::MAX));
            for &term in product {
                if let Term::Size(var) = term {
                    let extent = self.extent(&Size::Var(crate::size::SizeVar(var)))?;
                    part = self.maker.apply(Operator::Mul, &[part, extent]);
                }
            }
            sum = self.maker.apply(Operator::Add, &[sum, part]);
        }
        Ok(sum)
    }
}
