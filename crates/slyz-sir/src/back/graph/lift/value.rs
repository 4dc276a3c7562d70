//! Values of the walk: a node over some of the axes around it, and how values of different axes meet.

use super::super::{GraphError, NodeId};
use super::Lift;
use crate::raise::poly::Poly;
use crate::size::Size;

/// An axis of a body, by number; those further in have larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AxisId(pub(super) u32);

/// What a name of the program is. The first axes of the node are axes of bodies around it, in order; it is the same along those that are
/// not there. Behind them come the axes of the value itself.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) node: NodeId,
    pub(super) axes: Vec<AxisId>,
    /// How many axes are its own: none for a scalar.
    pub(super) rank: usize,
    /// Of an `i64`: what it is in terms of positions and sizes.
    pub(super) place: Option<Poly>,
}

/// What tells values apart: nodes are shared by all axes of one extent.
pub(super) type Key = (NodeId, Vec<AxisId>);

impl Value {
    pub(super) fn key(&self) -> Key {
        (self.node, self.axes.clone())
    }

    /// One that depends on no axis.
    pub(super) fn own(node: NodeId, rank: usize) -> Value {
        Value { node, axes: vec![], rank, place: None }
    }
}

/// All axes of some values, in order.
pub(super) fn joined<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<AxisId> {
    let mut all: Vec<AxisId> = values.into_iter().flat_map(|value| &value.axes).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Lift<'_> {
    pub(super) fn extents(&self, axes: &[AxisId]) -> Vec<Size> {
        axes.iter().map(|axis| self.axes[axis.0 as usize].clone()).collect()
    }

    /// A value with an axis of one element for each of `axes` that it lacks, those in front left out where it has none of its own.
    pub(super) fn aligned(&mut self, value: &Value, axes: &[AxisId], rank: usize) -> NodeId {
        let mut missing: Vec<usize> = (0..axes.len()).filter(|&k| !value.axes.contains(&axes[k])).collect();
        // Scalars of a lane beside arrays of it.
        let own = axes.len()..axes.len() + rank - value.rank;
        missing.extend(own);
        let in_front = missing.iter().enumerate().take_while(|(k, axis)| k == *axis).count();
        let shift = in_front;
        let missing = missing[in_front..].iter().map(|axis| axis - shift).collect();
        self.maker.unsqueeze(value.node, missing)
    }

    /// A value over all of `axes`, with its elements repeated along those that it lacks.
    pub(super) fn spread(&mut self, value: &Value, axes: &[AxisId]) -> Result<NodeId, GraphError> {
        if value.axes == axes {
            return Ok(value.node);
        }
        let node = self.aligned(value, axes, value.rank);
        let mut shape = self.extents(axes);
        let own = self.maker.shape(value.node)[value.axes.len()..].to_vec();
        shape.extend(own);
        let extents = self.extents_of(&shape)?;
        Ok(self.maker.broadcast(node, shape, &extents))
    }

    /// The same with the innermost axes as axes of its own.
    pub(super) fn gathered(&mut self, value: &Value, inner: &[AxisId]) -> Result<Value, GraphError> {
        let outer: Vec<AxisId> = value.axes.iter().filter(|axis| !inner.contains(axis)).copied().collect();
        let all = [&outer[..], inner].concat();
        let node = self.spread(value, &all)?;
        Ok(Value { node, axes: outer, rank: value.rank + inner.len(), place: None })
    }

    pub(super) fn select(&mut self, cond: &Value, yes: &Value, no: &Value) -> Result<Value, GraphError> {
        let axes = joined([cond, yes, no]);
        let rank = yes.rank;
        let [cond, yes, no] = [cond, yes, no].map(|value| self.aligned(value, &axes, rank));
        let node = self.maker.select(cond, yes, no);
        Ok(Value { node, axes, rank, place: None })
    }
}
