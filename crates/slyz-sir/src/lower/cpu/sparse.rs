//! Scatters most of whose turns send nothing: all cores look which turns do, and one core sends for these, in order.
//!
//! ```text
//! %y = scatter [E] into [N] |%e| { …  %v = select %leads, %next, %far  yield %p, %v } with (%far) |%a, %b| { min }
//!
//! launch levels_scatter_turns      each chunk of turns: the numbers of those that send, and how many they are
//! launch levels_scatter            what it starts from, then those turns
//! ```
//!
//! A turn sends nothing whose value is the neutral element, or whose place is outside. That many do is not known; it is taken for likely where
//! a condition gives the one or the other, as in a search that goes on from the few nodes it has just found.
//!
//! What is left out changes nothing, not even a bit: sums of floats could lose the sign of a zero, so their values are not looked at.

use super::CHUNK;
use super::plan::own_chunk;
use super::scatter::Scatter;
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::kernel::{Access, BufferUse};
use crate::lower::planning::Lowering;
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::Write as _;

/// The fewest turns that are worth all cores.
pub(super) const FEWEST: u64 = 1 << 15;

impl<'g> Lowering<'g> {
    /// Do many turns of the scatter send nothing, as it seems?
    pub(super) fn is_sparse(&self, scatter: &Scatter<'g>) -> bool {
        let (to, values) = scatter.body.results.split_at(scatter.target.len());
        let body = Sent { lowering: self, body: scatter.body };
        let leaves = to.iter().any(|&id| body.chooses(id, |number| number.as_int() < 0));
        let neutral = &scatter.monoid.neutral;
        leaves
            || are_looked_at(scatter)
                && values.iter().zip(neutral).any(|(&id, &neutral)| body.is_often_neutral(id, neutral, scatter.monoid))
    }

    pub(super) fn scatter_sparse(&mut self, stmt: &'g Stmt, scatter: &Scatter<'g>) {
        let chunks = Size::CeilDiv(scatter.turns.clone().into(), CHUNK);
        let room = vec![chunks.clone() * Size::Const(CHUNK)];
        let found = self.buffer(Ty::I32, room.clone(), BufferUse::Temporary);
        let counts = self.buffer(Ty::I64, vec![chunks.clone()], BufferUse::Temporary);

        let name = self.kernel_name("scatter_turns");
        let mut w = KernelWriter::new(self, name, chunks.clone());
        let home = w.global(found, Access::Write, room.clone());
        let count = w.global(counts, Access::Write, vec![chunks.clone()]);
        w.bind_globals(&stmt.op);
        if scatter.shape.len() > 1 {
            w.flatten_memories(scatter.shape, &scatter.turns);
        }
        let neutral = w.all_scalars(&scatter.monoid.neutral);
        let (chunk, [lo, hi]) = own_chunk(&mut w, &scatter.turns);
        let start = w.scaled(chunk, CHUNK);
        let end = w.for_each(lo, hi, 1, (vec![start], &[Ty::I64]), |w, i, at| {
            let (to, values) = turn(w, scatter, i);
            let sends = sends(w, scatter, &to, &values, &neutral);
            let number = w.value(i - lo);
            let number = w.push(Op::Cast(Ty::I32, number), Ty::I32);
            w.when(sends, |w| w.store(home, vec![at[0]], number));
            let one = w.push(Op::Cast(Ty::I64, sends), Ty::I64);
            vec![w.value(at[0] + one)]
        });
        let all = w.value(end[0] - start);
        w.store(count, vec![chunk], all);
        let kernel = w.finish();
        self.launch(kernel);

        let name = self.kernel_name("scatter");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let outputs = scatter.outputs.iter();
        let homes: Vec<_> = outputs.map(|&b| w.global(b, Access::Write, scatter.target.to_vec())).collect();
        let found = w.global(found, Access::Read, room);
        let counts = w.global(counts, Access::Read, vec![chunks.clone()]);
        w.bind_globals(&stmt.op);
        w.make_readable(&homes);
        let homes: Vec<_> = homes.into_iter().map(|memory| (memory, vec![])).collect();
        w.fill_target(scatter.target, scatter.onto, scatter.monoid, &homes);
        if scatter.shape.len() > 1 {
            w.flatten_memories(scatter.shape, &scatter.turns);
        }
        let zero = w.number(0);
        let chunks = w.extent(&chunks);
        w.for_each(zero, chunks, 1, (vec![], &[]), |w, chunk, _| {
            let start = w.scaled(chunk, CHUNK);
            let count = w.push(Op::Load { memory: counts, index: vec![chunk] }, Ty::I64);
            let end = w.value(start + count);
            w.for_each(start, end, 1, (vec![], &[]), |w, k, _| {
                let number = w.push(Op::Load { memory: found, index: vec![k] }, Ty::I32);
                let number = w.push(Op::Cast(Ty::I64, number), Ty::I64);
                let i = w.value(start + number);
                let (to, values) = turn(w, scatter, i);
                w.send_to(&to, &values, scatter.target, scatter.monoid, &homes);
                vec![]
            });
            vec![]
        });
        let kernel = w.finish();
        self.launch(kernel);
    }
}

/// Does it matter whether a value is the neutral element?
fn are_looked_at(scatter: &Scatter) -> bool {
    scatter.monoid.operator().is_some() && !scatter.tys.iter().any(|ty| ty.is_float())
}

/// Where a turn sends, and what.
fn turn<'g>(w: &mut KernelWriter<'_, 'g>, scatter: &Scatter<'g>, i: Id) -> (Vec<Id>, Vec<Id>) {
    let positions: Vec<Id> = scatter.body.params.iter().map(|p| p.id).collect();
    if positions.len() > 1 {
        w.set_flat(positions.clone(), i);
    }
    let mut to = w.run(scatter.body, &vec![i; positions.len()], Mode::Lane);
    let values = to.split_off(scatter.target.len());
    (to, values)
}

/// Does a turn change anything?
fn sends(w: &mut KernelWriter, scatter: &Scatter, to: &[Id], values: &[Id], neutral: &[Id]) -> Id {
    let inside = w.within(to, scatter.target);
    if !are_looked_at(scatter) {
        return inside;
    }
    let differs = |(&value, &neutral): (&Id, &Id)| w.apply(Operator::Ne, &[value, neutral], Ty::Bool);
    let differ: Vec<Id> = values.iter().zip(neutral).map(differs).collect();
    differ.into_iter().fold(inside, |sends, differs| w.apply(Operator::And, &[sends, differs], Ty::Bool))
}

/// What a turn computes.
struct Sent<'l, 'g> {
    lowering: &'l Lowering<'g>,
    body: &'g Body,
}

impl<'g> Sent<'_, 'g> {
    fn made(&self, id: Id) -> Option<&'g Op> {
        self.body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id)).map(|stmt| &stmt.op)
    }

    fn constant(&self, id: Id) -> Option<Scalar> {
        match self.made(id).or_else(|| self.lowering.again.get(&id).map(|stmt| &stmt.op))? {
            Op::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// Does a condition choose between a number like that and another value?
    fn chooses(&self, id: Id, is_wanted: impl Fn(Scalar) -> bool) -> bool {
        let Some(Op::Apply(Operator::Select, args)) = self.made(id) else { return false };
        args[1..].iter().filter_map(|&arg| self.constant(arg)).any(|value| !value.ty.is_float() && is_wanted(value))
    }

    /// A condition that is sent is taken for one that seldom holds, and so is a count of whether it does.
    fn is_often_neutral(&self, id: Id, neutral: Id, monoid: &Monoid) -> bool {
        let Some(neutral) = self.constant(neutral) else { return false };
        let is_condition = |op: &Op| matches!(op, Op::Apply(operator, _) if *operator != Operator::Select);
        let counts = |op: &Op| match op {
            Op::Cast(_, of) => self.lowering.type_of(*of).elem() == Ty::Bool && neutral.as_int() == 0,
            op => monoid.operator() == Some(Operator::Or) && neutral.ty == Ty::Bool && is_condition(op),
        };
        self.chooses(id, |number| number == neutral) || self.made(id).is_some_and(counts)
    }
}
