//! Folds and scans by monoids of any kind, where the extent is known: neighbours are combined, then pairs of them, and so on.

use super::super::GraphError;
use super::Lift;
use super::value::{AxisId, Value};
use crate::code::Monoid;
use crate::size::Size;

impl Lift<'_> {
    pub(super) fn tree(
        &mut self,
        values: &[Value],
        monoid: &Monoid,
        axes: &[AxisId],
    ) -> Result<Vec<Value>, GraphError> {
        let neutral = self.all(&monoid.neutral);
        let shape = self.extents(axes);
        let mut length = self.length(&shape, "a fold by a monoid of one's own")?;
        let mut lines = vec![];
        for value in values {
            lines.push(self.in_line(value, axes, length)?);
        }
        if length == 0 {
            return Ok(neutral);
        }
        while length > 1 {
            if length % 2 == 1 {
                for (line, neutral) in lines.iter_mut().zip(&neutral) {
                    *line = self.padded(line, neutral, 1, false)?;
                }
                length += 1;
            }
            length /= 2;
            let halves: Vec<[Value; 2]> =
                lines.iter().map(|line| self.pairs(line, length)).collect::<Result<_, _>>()?;
            let left = halves.iter().map(|[left, _]| left.clone());
            let right = halves.iter().map(|[_, right]| right.clone());
            lines = self.combined(left.collect(), right.collect(), monoid, length)?;
        }
        let zero = self.maker.i64(0);
        let first = lines.into_iter().map(|line| {
            let node = self.maker.gather(line.node, zero, line.axes.len());
            Value { node, axes: line.axes, rank: 0, place: None }
        });
        Ok(first.collect())
    }

    pub(super) fn prefixes(
        &mut self,
        values: &[Value],
        monoid: &Monoid,
        axes: &[AxisId],
    ) -> Result<Vec<Value>, GraphError> {
        let neutral = self.all(&monoid.neutral);
        let (last, rest) = axes.split_last().map_or((axes, &[][..]), |(_, rest)| (&axes[rest.len()..], rest));
        let shape = self.extents(last);
        let length = self.length(&shape, "a scan by a monoid of one's own")?;
        // What is around the line is around it for the monoid, too.
        let mut lines = vec![];
        for value in values {
            lines.push(self.in_line(value, last, length)?);
        }
        self.around.extend(rest);
        let mut step = 1;
        while step < length {
            let mut before = vec![];
            for (line, neutral) in lines.iter().zip(&neutral) {
                let shifted = self.padded(line, neutral, step, true)?;
                let zero = self.maker.i64(0);
                let end = self.maker.i64(length as i64);
                let node = self.maker.slice(shifted.node, line.axes.len(), zero, end, Size::Const(length));
                before.push(Value { node, ..shifted });
            }
            lines = self.combined(before, lines, monoid, length)?;
            step *= 2;
        }
        self.leave(rest);
        lines
            .iter()
            .map(|line| {
                let outer: Vec<AxisId> = line.axes.iter().filter(|axis| !rest.contains(axis)).copied().collect();
                let all = [&outer[..], rest].concat();
                let node = self.spread(line, &all)?;
                Ok(Value { node, axes: outer, rank: axes.len(), place: None })
            })
            .collect()
    }

    fn length(&self, shape: &[Size], what: &'static str) -> Result<u64, GraphError> {
        Size::product(shape).constant().ok_or_else(|| GraphError::Open {
            program: self.program.name.clone(),
            format: self.format.name,
            what,
            size: self.some_variable(shape),
        })
    }

    /// A scalar over some axes as a line of its own.
    fn in_line(&mut self, value: &Value, axes: &[AxisId], length: u64) -> Result<Value, GraphError> {
        let whole = self.gathered(value, axes)?;
        let mut shape = self.extents(&whole.axes);
        shape.push(Size::Const(length));
        let extents = self.extents_of(&shape)?;
        let node = self.maker.reshape(whole.node, shape, &extents);
        Ok(Value { node, axes: whole.axes, rank: 1, place: None })
    }

    /// A line with so many neutral elements behind it, or in front.
    fn padded(&mut self, line: &Value, neutral: &Value, by: u64, front: bool) -> Result<Value, GraphError> {
        let mut shape = self.extents(&line.axes);
        shape.push(Size::Const(by));
        let extents = self.extents_of(&shape)?;
        let neutral = self.aligned(neutral, &line.axes, 1);
        let more = self.maker.broadcast(neutral, shape, &extents);
        let parts = if front { vec![more, line.node] } else { vec![line.node, more] };
        let node = self.maker.concat(parts, line.axes.len());
        Ok(Value { node, ..line.clone() })
    }

    /// Every other element, and those between them.
    fn pairs(&mut self, line: &Value, length: u64) -> Result<[Value; 2], GraphError> {
        let mut shape = self.extents(&line.axes);
        shape.extend([Size::Const(length), Size::Const(2)]);
        let extents = self.extents_of(&shape)?;
        let pairs = self.maker.reshape(line.node, shape, &extents);
        let mut half = |number: i64| {
            let number = self.maker.i64(number);
            Value { node: self.maker.gather(pairs, number, line.axes.len() + 1), ..line.clone() }
        };
        Ok([half(0), half(1)])
    }

    /// Two lines, element by element, by the monoid.
    fn combined(
        &mut self,
        left: Vec<Value>,
        right: Vec<Value>,
        monoid: &Monoid,
        length: u64,
    ) -> Result<Vec<Value>, GraphError> {
        let axis = AxisId(self.axes.len() as u32);
        self.axes.push(Size::Const(length));
        let along = |value: Value| Value { axes: [&value.axes[..], &[axis]].concat(), rank: 0, ..value };
        let args: Vec<Value> = left.into_iter().chain(right).map(along).collect();
        self.around.push(axis);
        let results = self.call(&monoid.combine, &args)?;
        self.leave(&[axis]);
        results.iter().map(|value| self.gathered(value, &[axis])).collect()
    }
}
