//! Scatters: the neutral element everywhere, then values sent to their places.
//!
//! Where the monoid is an operator on integers that the machine has as an atomic, every position sends by a thread of its own:
//! integers do not care about the order. So it is where values are written, never combined, and each to a place of its own. Of the rest,
//! `sends` has left those with few values only: one thread sends them, in order; and those that lanes send in turns (`lane_tables`).
//!
//! Where many positions send to few places by an atomic, as in histograms, blocks have tables of their own (`tables`).

use super::Machine;
use super::plan::Gpu;
use super::sends::goes_by_turns;
use super::threads::each_position;
use crate::code::{AtomicOp, Body, Id, MemId, Monoid, Op, Stmt};
use crate::kernel::{Access, BufferId};
use crate::lower::access::{is_one_to_one, last_one_stays};
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;

impl<'g> Gpu<'g> {
    pub(super) fn scatter(&mut self, stmt: &'g Stmt) {
        let Op::Scatter { shape, body, target, onto, monoid } = &stmt.op else { unreachable!("asked for a scatter") };
        let outputs: Vec<BufferId> = self.base.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        for (&old, &buffer) in onto.iter().zip(&outputs) {
            self.copy(old, buffer, target);
        }
        if goes_by_turns(&stmt.op, &self.machine) {
            let name = self.base.kernel_name("scatter");
            return self.scatter_by_turns(&name, stmt, &outputs);
        }
        if onto.is_empty() {
            self.fill_neutral(&outputs, target, monoid);
        }
        let atomic = atomic(&self.machine, monoid);
        let name = self.base.kernel_name("scatter");
        if let (Some(operator), [output]) = (atomic, &outputs[..])
            && self.scatter_tables(&name, stmt, operator, *output)
        {
            return;
        }
        let bind = |w: &mut KernelWriter<'_, 'g>| -> Vec<(MemId, Vec<Id>)> {
            w.bind_globals(&stmt.op);
            outputs.iter().map(|&b| (w.global(b, Access::ReadWrite, target.to_vec()), vec![])).collect()
        };
        if atomic.is_none() && !writes_apart(monoid, body, target) {
            return self.blocks(&name, &Size::Const(1), 1, &|w, _| {
                let homes = bind(w);
                w.send_all(shape, body, target, monoid, &homes);
            });
        }
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        let homes = bind(&mut w);
        each_position(&mut w, &self.machine, shape, &mut |w, at| {
            let sent = w.run(body, at, Mode::Lane);
            let (to, values) = sent.split_at(target.len());
            let inside = w.within(to, target);
            w.when(inside, |w| match atomic {
                Some(operator) => {
                    let op = AtomicOp::Update(operator);
                    let memory = homes[0].0;
                    let ty = w.types_of(&monoid.combine)[0];
                    w.push(Op::Atomic { op, memory, index: to.to_vec(), args: vec![values[0]] }, ty);
                }
                None => homes.iter().zip(values).for_each(|((memory, _), &value)| w.store(*memory, to.to_vec(), value)),
            });
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    /// Copies an array of the top level to a buffer, unless it is there.
    pub(super) fn copy(&mut self, array: Id, to: BufferId, shape: &[Size]) {
        if self.base.buffers.get(&array) == Some(&to) {
            return;
        }
        let name = self.base.kernel_name("copy");
        let ty = self.base.type_of(array).elem();
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        let home = w.global(to, Access::Write, shape.to_vec());
        each_position(&mut w, &self.machine, shape, &mut |w, at| {
            let value = w.read(array, at.to_vec(), ty);
            w.store(home, at.to_vec(), value);
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    fn fill_neutral(&mut self, outputs: &[BufferId], target: &[Size], monoid: &'g Monoid) {
        let name = self.base.kernel_name("neutral");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        let neutral = w.all_scalars(&monoid.neutral);
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, target.to_vec())).collect();
        each_position(&mut w, &self.machine, target, &mut |w, at| {
            for (&memory, &value) in homes.iter().zip(&neutral) {
                w.store(memory, at.to_vec(), value);
            }
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }
}

/// Are values written, never combined, and each to a place of its own?
pub(super) fn writes_apart(monoid: &Monoid, body: &Body, target: &[Size]) -> bool {
    last_one_stays(monoid) && is_one_to_one(body, target.len()) && !body.has_array_loop()
}

/// The atomic that does what the monoid does, whatever the order.
pub(super) fn atomic(machine: &Machine, monoid: &Monoid) -> Option<Operator> {
    let operator = monoid.operator()?;
    let ty = monoid.combine.params.first()?.ty.elem();
    let has = match operator {
        Operator::Add | Operator::Min | Operator::Max | Operator::And | Operator::Or | Operator::Xor => {
            matches!(ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) && ty.bits() <= machine.atomic_bits
        }
        _ => false,
    };
    has.then_some(operator)
}
