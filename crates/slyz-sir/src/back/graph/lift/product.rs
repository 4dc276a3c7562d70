//! Sums of products as products of matrices, so that the products are never there all at once.

use super::super::{GraphError, NodeId};
use super::Lift;
use super::value::{AxisId, Value};
use crate::size::Size;

impl Lift<'_> {
    /// The sum over `axes` of the products of two scalars, where each of them has an axis of its own, or one of them has and the other
    /// is summed over; nothing where a reduction of element-wise products does as well.
    pub(super) fn matrices(&mut self, a: &Value, b: &Value, axes: &[AxisId]) -> Result<Option<Value>, GraphError> {
        let shared = |axis: &&AxisId| a.axes.contains(axis) && b.axes.contains(axis);
        let only = |value: &Value, other: &Value| -> Vec<AxisId> {
            value.axes.iter().filter(|axis| !other.axes.contains(axis)).copied().collect()
        };
        let rows = only(a, b);
        let columns = only(b, a);
        let summed: Vec<AxisId> = axes.iter().filter(shared).copied().collect();
        let batch: Vec<AxisId> = a.axes.iter().filter(shared).filter(|axis| !axes.contains(axis)).copied().collect();
        if summed.len() != axes.len() || rows.is_empty() && columns.is_empty() {
            return Ok(None);
        }
        let left = self.matrix(a, &batch, &rows, &summed)?;
        let right = self.matrix(b, &batch, &summed, &columns)?;
        let product = self.maker.matmul(left, right);
        let order = [&batch[..], &rows, &columns].concat();
        let shape = self.extents(&order);
        let extents = self.extents_of(&shape)?;
        let apart = self.maker.reshape(product, shape, &extents);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let places = sorted.iter().filter_map(|axis| order.iter().position(|other| other == axis)).collect();
        let node = self.maker.transpose(apart, places);
        Ok(Some(Value { node, axes: sorted, rank: 0, place: None }))
    }

    /// A value with its axes in three parts: those in front, and two that become one axis each.
    fn matrix(
        &mut self,
        value: &Value,
        batch: &[AxisId],
        rows: &[AxisId],
        columns: &[AxisId],
    ) -> Result<NodeId, GraphError> {
        let order = [batch, rows, columns].concat();
        let places = order.iter().filter_map(|axis| value.axes.iter().position(|other| other == axis)).collect();
        let turned = self.maker.transpose(value.node, places);
        let mut shape = self.extents(batch);
        for axes in [rows, columns] {
            let size = Size::product(&self.extents(axes));
            shape.push(self.known(&size));
        }
        let extents = self.extents_of(&shape)?;
        Ok(self.maker.reshape(turned, shape, &extents))
    }
}
