//! Sums of products under windows that slide along an array, as convolutions: a gather of all windows would be the window's size times
//! the array.

use super::super::GraphError;
use super::Lift;
use super::value::{AxisId, Value};
use crate::raise::poly::{Poly, Term};
use crate::size::Size;

/// How an axis of an array is read.
#[derive(Clone, Copy, Debug)]
enum Along {
    /// From end to end at the position of an axis.
    Plain(AxisId),
    /// At the sum of two positions, from end to end.
    Slid(AxisId, AxisId),
}

/// A read under a window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    array: Value,
    along: Vec<Along>,
}

/// Axes that windows slide along; formats have up to three.
const MOST_PLACES: usize = 3;

impl Lift<'_> {
    /// Remembers what was read under a window.
    pub(super) fn note_window(&mut self, array: &Value, index: &[Value], value: &Value) {
        if !self.format.convolves || !array.axes.is_empty() {
            return;
        }
        let shape = self.maker.shape(array.node).to_vec();
        let along: Option<Vec<Along>> = index.iter().zip(&shape).map(|(place, size)| self.along(place, size)).collect();
        if let Some(along) = along
            && along.iter().any(|along| matches!(along, Along::Slid(..)))
        {
            self.windows.insert(value.key(), Window { array: array.clone(), along });
        }
    }

    fn along(&self, place: &Value, size: &Size) -> Option<Along> {
        let poly = place.place.as_ref()?;
        let extent = |axis: AxisId| self.poly(&self.axes[axis.0 as usize]);
        match place.axes[..] {
            [axis] => {
                let plain = *poly == Poly::term(Term::Atom(axis.0)) && extent(axis) == self.poly(size);
                plain.then_some(Along::Plain(axis))
            }
            [outer, inner] => {
                let sum = Poly::term(Term::Atom(outer.0)).plus(&Poly::term(Term::Atom(inner.0)), 1)?;
                let whole = extent(outer)?.plus(&extent(inner)?, 1)?.plus(&Poly::number(1), -1)?;
                (*poly == sum && Some(whole) == self.poly(size)).then_some(Along::Slid(outer, inner))
            }
            _ => None,
        }
    }

    /// The sum over `axes` of what is under a window times a weight, where that is a convolution.
    pub(super) fn convolution(
        &mut self,
        read: &Value,
        weight: &Value,
        axes: &[AxisId],
    ) -> Result<Option<Value>, GraphError> {
        let Some(window) = self.windows.get(&read.key()).cloned() else { return Ok(None) };
        let mut batch = vec![];
        let mut channels = vec![];
        let mut places = vec![];
        let mut inner = vec![];
        // Which axes of the array are which.
        let mut order: [Vec<usize>; 3] = Default::default();
        for (number, along) in window.along.iter().enumerate() {
            match *along {
                Along::Plain(axis) if axes.contains(&axis) => {
                    channels.push(axis);
                    order[1].push(number);
                }
                Along::Plain(axis) => {
                    batch.push(axis);
                    order[0].push(number);
                }
                Along::Slid(outer, within) => {
                    places.push(outer);
                    inner.push(within);
                    order[2].push(number);
                }
            }
        }
        let summed = [&channels[..], &inner].concat();
        let free: Vec<AxisId> = weight.axes.iter().filter(|axis| !axes.contains(axis)).copied().collect();
        let apart = places.iter().chain(&batch).all(|axis| !axes.contains(axis) && !free.contains(axis));
        let whole =
            summed.len() == axes.len() && summed.iter().all(|axis| axes.contains(axis) && weight.axes.contains(axis));
        // OpenVINO's CPU has to know how large windows are, and how many there are.
        let known = weight.axes.iter().all(|axis| self.axes[axis.0 as usize].constant().is_some());
        if !apart || !whole || !known || places.len() > MOST_PLACES {
            return Ok(None);
        }
        let array = window.array.node;
        let turned = self.maker.transpose(array, order.concat());
        let lengths: Vec<Size> = order[2].iter().map(|&axis| self.maker.shape(array)[axis].clone()).collect();
        let data = self.in_front(turned, &batch, &channels, lengths)?;
        let wanted = [&free[..], &channels, &inner].concat();
        let turn = wanted.iter().filter_map(|axis| weight.axes.iter().position(|own| own == axis)).collect();
        let weights = self.maker.transpose(weight.node, turn);
        let windows = self.extents(&inner);
        let weights = self.in_front(weights, &free, &channels, windows)?;
        let length = self.extents(&places);
        let sums = self.maker.convolve(data, weights, &length);
        let named = [&batch[..], &free, &places].concat();
        let shape = self.extents(&named);
        let extents = self.extents_of(&shape)?;
        let apart = self.maker.reshape(sums, shape, &extents);
        let mut sorted = named.clone();
        sorted.sort_unstable();
        let back = sorted.iter().filter_map(|axis| named.iter().position(|own| own == axis)).collect();
        Ok(Some(Value { node: self.maker.transpose(apart, back), axes: sorted, rank: 0, place: None }))
    }

    /// An array with two lists of axes as one axis each, and others behind them.
    fn in_front(
        &mut self,
        of: super::super::NodeId,
        first: &[AxisId],
        second: &[AxisId],
        behind: Vec<Size>,
    ) -> Result<super::super::NodeId, GraphError> {
        let mut shape = vec![];
        for axes in [first, second] {
            let size = Size::product(&self.extents(axes));
            shape.push(self.known(&size));
        }
        shape.extend(behind);
        let extents = self.extents_of(&shape)?;
        Ok(self.maker.reshape(of, shape, &extents))
    }
}
