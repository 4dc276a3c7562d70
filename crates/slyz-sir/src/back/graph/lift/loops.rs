//! Loops: a few turns one after the other, more as loops of the graph.
//!
//! A state has the axes that its start or a turn gives it. Where lanes stop at different times, the loop goes on while one of them does, and
//! the others keep what they have.

use super::super::{GraphError, NodeId, Reduction};
use super::Lift;
use super::value::{AxisId, Value};
use crate::code::Body;
use crate::ops::Operator;
use crate::types::Scalar;

/// So many turns are written one after the other.
const UNROLLED: i128 = 16;

/// What is computed of a state.
type OfState<'t, 'p, T> = &'t dyn Fn(&mut Lift<'p>, &[Value]) -> Result<T, GraphError>;

/// What a loop does with its state.
struct Turn<'t, 'p> {
    cond: OfState<'t, 'p, Value>,
    body: OfState<'t, 'p, Vec<Value>>,
}

impl<'p> Lift<'p> {
    pub(super) fn turns(&mut self, bounds: &[Value; 3], init: &[Value], body: &Body) -> Result<Vec<Value>, GraphError> {
        let [lo, hi, step] = bounds;
        let known = bounds.each_ref().map(|bound| self.maker.as_scalar(bound.node));
        if let [Some(lo), Some(hi), Some(step)] = known {
            let from = lo.as_int();
            let by = step.as_int().max(1);
            let count = (hi.as_int() - from + by - 1).div_euclid(by).max(0);
            if count <= UNROLLED {
                let mut state = init.to_vec();
                for turn in 0..count {
                    let counter = Scalar::from_int(lo.ty, from + turn * by);
                    let place = super::number(counter);
                    let counter = Value { place, ..Value::own(self.maker.scalar(counter), 0) };
                    state = self.call(body, &[&[counter], &state[..]].concat())?;
                }
                return Ok(state);
            }
        }
        let state = [&[Value { place: None, ..lo.clone() }], init].concat();
        let cond = |lift: &mut Lift<'p>, state: &[Value]| lift.operator(Operator::Lt, &[state[0].clone(), hi.clone()]);
        let turn = |lift: &mut Lift<'p>, state: &[Value]| {
            let mut next = vec![lift.operator(Operator::Add, &[state[0].clone(), step.clone()])?];
            next.extend(lift.call(body, state)?);
            Ok(next)
        };
        let ended = self.looped(state, &Turn { cond: &cond, body: &turn })?;
        Ok(ended[1..].to_vec())
    }

    pub(super) fn repeat(&mut self, init: &[Value], cond: &Body, body: &Body) -> Result<Vec<Value>, GraphError> {
        let holds = |lift: &mut Lift<'p>, state: &[Value]| Ok(lift.call(cond, state)?.remove(0));
        let turn = |lift: &mut Lift<'p>, state: &[Value]| lift.call(body, state);
        self.looped(init.to_vec(), &Turn { cond: &holds, body: &turn })
    }

    fn looped(&mut self, init: Vec<Value>, turn: &Turn<'_, 'p>) -> Result<Vec<Value>, GraphError> {
        let mut axes: Vec<Vec<AxisId>> = init.iter().map(|value| value.axes.clone()).collect();
        loop {
            let mut nodes = vec![];
            for (value, axes) in init.iter().zip(&axes) {
                nodes.push(self.spread(value, axes)?);
            }
            let state = |params: &[NodeId]| -> Vec<Value> {
                let values = params.iter().zip(&init).zip(&axes);
                values
                    .map(|((&node, like), axes)| Value { node, axes: axes.clone(), rank: like.rank, place: None })
                    .collect()
            };
            let open = self.maker.open(&nodes);
            let lanes = (turn.cond)(self, &state(open.params()))?;
            let any = self.maker.reduce(Reduction::Any, lanes.node, (0..lanes.axes.len()).collect());
            let cond = self.maker.close(open, vec![any]);

            let open = self.maker.open(&nodes);
            let before = state(open.params());
            let masked = self.masked;
            self.masked |= !lanes.axes.is_empty();
            let mut after = (turn.body)(self, &before)?;
            if !lanes.axes.is_empty() {
                let goes_on = (turn.cond)(self, &before)?;
                for (after, before) in after.iter_mut().zip(&before) {
                    *after = self.select(&goes_on, after, before)?;
                }
            }
            self.masked = masked;
            let grown: Vec<Vec<AxisId>> =
                after.iter().zip(&axes).map(|(after, axes)| union(&after.axes, axes)).collect();
            if grown != axes {
                self.maker.close(open, vec![]);
                axes = grown;
                continue;
            }
            let mut results = vec![];
            for (value, axes) in after.iter().zip(&axes) {
                results.push(self.spread(value, axes)?);
            }
            let body = self.maker.close(open, results);
            let ended = self.maker.repeat(nodes, cond, body);
            return Ok(state(&ended));
        }
    }
}

fn union(a: &[AxisId], b: &[AxisId]) -> Vec<AxisId> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}
