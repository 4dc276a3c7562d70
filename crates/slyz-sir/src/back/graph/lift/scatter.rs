//! Scatters: elements combined into a line by the format's own scatter. What falls outside goes to one place more, which is cut off.
//!
//! Where the last one stays, formats do not say which one that is: the last visit of each place is found by a scatter of visits first.

use super::super::{GraphError, NodeId, Reduction};
use super::Lift;
use super::plain_operators;
use super::value::{AxisId, Value, joined};
use crate::code::{Body, Monoid};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;

/// Where elements go: places in a line, which is so long without the place for what falls outside.
struct Aim {
    places: NodeId,
    length: Size,
    /// The axes of the result, those of bodies around it first.
    shape: Vec<Size>,
    outer: Vec<AxisId>,
    /// Those and the axes that are visited.
    all: Vec<AxisId>,
}

impl Lift<'_> {
    pub(super) fn scatter(
        &mut self,
        shape: &[Size],
        body: &Body,
        target: &[Size],
        onto: &[Value],
        monoid: &Monoid,
    ) -> Result<Vec<Value>, GraphError> {
        let axes = self.enter(shape, &body.params)?;
        let values = self.body(body)?;
        self.leave(&axes);
        let neutral = self.all(&monoid.neutral);
        let base = if onto.is_empty() { &neutral } else { onto };
        let (index, values) = values.split_at(target.len());
        let mut outer = joined(index.iter().chain(values).chain(base));
        outer.retain(|axis| !axes.contains(axis));
        let aim = self.aim(index, target, outer, &axes)?;
        let parts = values.len();
        let results = &monoid.combine.results;
        let last_stays = (0..parts).all(|k| results[k] == monoid.combine.params[parts + k].id);
        if last_stays {
            let last = self.last_visits(&aim)?;
            return values.iter().zip(base).map(|(value, base)| self.updated(value, base, last, &aim)).collect();
        }
        let operators = plain_operators(&monoid.combine).unwrap_or_default();
        let reductions =
            operators.iter().zip(values).map(|(operator, value)| Reduction::of(*operator, self.maker.ty(value.node)));
        let reductions: Option<Vec<Reduction>> = reductions.collect();
        match reductions {
            Some(reductions) if reductions.len() == parts => {
                let parts = values.iter().zip(base).zip(reductions);
                parts.map(|((value, base), by)| self.scattered(value, base, by, &aim)).collect()
            }
            _ => self.lacks(
                "`scatter` by a monoid of one's own",
                "use sums, products, smallest, largest or last ones, or build for the target c",
            ),
        }
    }

    fn aim(
        &mut self,
        index: &[Value],
        target: &[Size],
        outer: Vec<AxisId>,
        axes: &[AxisId],
    ) -> Result<Aim, GraphError> {
        let all = [&outer[..], axes].concat();
        let mut inside: Option<Value> = None;
        let zero = Value::own(self.maker.i64(0), 0);
        for (place, size) in index.iter().zip(target) {
            let extent = Value::own(self.extent(size)?, 0);
            let from = self.operator(Operator::Ge, &[place.clone(), zero.clone()])?;
            let to = self.operator(Operator::Lt, &[place.clone(), extent])?;
            let both = self.operator(Operator::And, &[from, to])?;
            inside = Some(match inside {
                None => both,
                Some(others) => self.operator(Operator::And, &[others, both])?,
            });
        }
        let mut places: Vec<Value> = vec![];
        for &axis in &outer {
            places.push(self.position(axis)?);
        }
        places.extend_from_slice(index);
        let mut shape = self.extents(&outer);
        shape.extend(target.iter().map(|size| self.known(size)));
        let axes_of_places = joined(&places);
        let flat = self.flat_place(&places, &shape, &axes_of_places)?;
        let flat = Value { node: flat, axes: axes_of_places, rank: 0, place: None };
        let length = self.known(&Size::product(&shape));
        let past = Value::own(self.extent(&length)?, 0);
        let place = match inside {
            Some(inside) => self.select(&inside, &flat, &past)?,
            None => flat,
        };
        let places = self.visits(&place, &all)?;
        Ok(Aim { places, length, shape, outer, all })
    }

    /// A scalar of all visits, as a line.
    fn visits(&mut self, value: &Value, all: &[AxisId]) -> Result<NodeId, GraphError> {
        let whole = self.spread(value, all)?;
        self.line(whole)
    }

    /// What is there before, with one place more.
    fn base(&mut self, base: &Value, aim: &Aim) -> Result<NodeId, GraphError> {
        let ty = self.maker.ty(base.node);
        let whole = match base.rank {
            0 => {
                let node = self.aligned(base, &aim.outer, aim.shape.len() - aim.outer.len());
                let extents = self.extents_of(&aim.shape)?;
                self.maker.broadcast(node, aim.shape.clone(), &extents)
            }
            _ => self.spread(base, &aim.outer)?,
        };
        let line = self.line(whole)?;
        let zero = self.maker.scalar(crate::types::Scalar::from_int(ty, 0));
        let zero = self.maker.unsqueeze(zero, vec![0]);
        Ok(self.maker.concat(vec![line, zero], 0))
    }

    /// The line without the place for what falls outside, as an array.
    fn result(&mut self, line: NodeId, aim: &Aim) -> Result<Value, GraphError> {
        let zero = self.maker.i64(0);
        let length = self.extent(&aim.length)?;
        let inside = self.maker.slice(line, 0, zero, length, aim.length.clone());
        let extents = self.extents_of(&aim.shape)?;
        let node = self.maker.reshape(inside, aim.shape.clone(), &extents);
        let rank = aim.shape.len() - aim.outer.len();
        Ok(Value { node, axes: aim.outer.clone(), rank, place: None })
    }

    fn scattered(&mut self, value: &Value, base: &Value, by: Reduction, aim: &Aim) -> Result<Value, GraphError> {
        let ty = self.maker.ty(value.node);
        let mut onto = self.base(base, aim)?;
        let mut values = self.visits(value, &aim.all)?;
        let mut number = by;
        if ty == Ty::Bool {
            onto = self.maker.cast(Ty::I32, onto);
            values = self.maker.cast(Ty::I32, values);
            number = if by == Reduction::All { Reduction::Min } else { Reduction::Max };
        }
        let line = self.maker.scatter(onto, aim.places, values, number);
        let line = if ty == Ty::Bool {
            let zero = self.maker.scalar(crate::types::Scalar::from_int(Ty::I32, 0));
            self.maker.apply(Operator::Ne, &[line, zero])
        } else {
            line
        };
        self.result(line, aim)
    }

    /// For each place the number of its last visit, or -1.
    fn last_visits(&mut self, aim: &Aim) -> Result<NodeId, GraphError> {
        let none = Value::own(self.maker.i64(-1), 0);
        let onto = self.base(&none, aim)?;
        let size = self.maker.shape(aim.places)[0].clone();
        let count = self.extent(&size)?;
        let visits = self.maker.range(count, size);
        Ok(self.maker.scatter(onto, aim.places, visits, Reduction::Max))
    }

    fn updated(&mut self, value: &Value, base: &Value, last: NodeId, aim: &Aim) -> Result<Value, GraphError> {
        let onto = self.base(base, aim)?;
        let values = self.visits(value, &aim.all)?;
        let zero = self.maker.i64(0);
        let visited = self.maker.apply(Operator::Ge, &[last, zero]);
        let visit = self.maker.apply(Operator::Max, &[last, zero]);
        let new = self.maker.gather(values, visit, 0);
        let line = self.maker.select(visited, new, onto);
        self.result(line, aim)
    }
}
