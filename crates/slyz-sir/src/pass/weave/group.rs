//! What the threads of a subgroup find out together, from values that all of them left in memory.
//!
//! Reductions and scans go through the threads in order, as the interpreter does: results do not depend on how wide vectors are.

use super::shape::{Shape, Thread};
use super::write::WeaveWriter;
use crate::code::{Id, MemId, Op, Place, SubgroupOp};
use crate::kernel::Memory;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Writes code of the block that fills `to`, an element per thread, from the values in `from`.
pub(super) fn write(w: &mut WeaveWriter, shape: &Shape, op: SubgroupOp, from: MemId, to: MemId, memories: &[Memory]) {
    let threads = shape.threads() as i64;
    let size = i64::from(shape.subgroup);
    let ty = memories[from.0 as usize].ty;
    let zero = w.number(0);
    let all = w.number(threads);
    let size_ = w.number(size);
    if threads <= size {
        return one(w, op, ty, [zero, all], from, to);
    }
    let groups = w.number((threads + size - 1) / size);
    w.each(zero, groups, |w, number| {
        let start = w.value(number * size_);
        let past = w.value(start + size_);
        let end = w.value(past.least(all));
        one(w, op, ty, [start, end], from, to);
    });
}

/// The same for one subgroup.
fn one(w: &mut WeaveWriter, op: SubgroupOp, ty: Ty, [start, end]: [Id; 2], from: MemId, to: MemId) {
    let load = |w: &mut WeaveWriter, at: Id| w.push(Op::Load { memory: from, index: vec![at] }, ty);
    let store =
        |w: &mut WeaveWriter, at: Id, value: Id| w.act(Op::Store { memory: to, index: vec![at], values: vec![value] });
    let fold = |w: &mut WeaveWriter, operator: Operator, each: bool| {
        let first = load(w, start);
        if each {
            store(w, start, first);
        }
        let one = w.number(1);
        let second = w.value(start + one);
        turns(w, [second, end], first, ty, |w, at, sum| {
            let value = load(w, at);
            let sum = w.push(Op::Apply(operator, vec![sum, value]), ty);
            if each {
                store(w, at, sum);
            }
            sum
        })
    };
    let value = match op {
        SubgroupOp::Reduce(operator) => fold(w, operator, false),
        SubgroupOp::Any => fold(w, Operator::Or, false),
        SubgroupOp::All => fold(w, Operator::And, false),
        SubgroupOp::Scan(operator) => {
            fold(w, operator, true);
            return;
        }
        SubgroupOp::Ballot => {
            let none = w.push(Op::Const(Scalar::from_int(Ty::U64, 0)), Ty::U64);
            turns(w, [start, end], none, Ty::U64, |w, at, bits| {
                let value = load(w, at);
                let bit = w.push(Op::Cast(Ty::U64, value), Ty::U64);
                let lane = w.value(at - start);
                let by = w.push(Op::Cast(Ty::U64, lane), Ty::U64);
                let bit = w.push(Op::Apply(Operator::Shl, vec![bit, by]), Ty::U64);
                w.push(Op::Apply(Operator::Or, vec![bits, bit]), Ty::U64)
            })
        }
        SubgroupOp::Broadcast => load(w, start),
        SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => {
            unreachable!("threads take shuffled values themselves")
        }
    };
    let body = w.nested(&[Ty::I64], |w, at| {
        store(w, at[0], value);
        vec![]
    });
    w.act(Op::Lanes { lo: start, hi: end, body, monoid: None });
}

/// A loop with one state.
fn turns(
    w: &mut WeaveWriter,
    [lo, hi]: [Id; 2],
    init: Id,
    ty: Ty,
    write: impl FnOnce(&mut WeaveWriter, Id, Id) -> Id,
) -> Id {
    let step = w.number(1);
    w.for_steps([lo, hi, step], (vec![init], &[ty]), |w, turn, state| vec![write(w, turn, state[0])])[0]
}

/// From which thread a thread takes its value in a shuffle; its own number where there is no such thread.
pub(super) fn source(w: &mut WeaveWriter, shape: &Shape, thread: &mut Thread, op: SubgroupOp, lane: Id) -> Id {
    let own = thread.place(w, shape, Place::Lane, 0);
    let number = thread.number(w);
    let size = i64::from(shape.subgroup);
    let threads = shape.threads() as i64;
    // Far from the subgroup is far enough, and does not wrap around.
    let low = w.number(-4 * size - 4);
    let high = w.number(4 * size + 4);
    let by = w.push(Op::Apply(Operator::Clamp, vec![lane, low, high]), Ty::I64);
    let to = match op {
        SubgroupOp::ShuffleXor => w.apply(Operator::Xor, &[own, by], Ty::I64),
        SubgroupOp::ShuffleUp => w.value(own - by),
        SubgroupOp::ShuffleDown => w.value(own + by),
        _ => by,
    };
    let zero = w.number(0);
    let size = w.number(size);
    let threads = w.number(threads);
    let start = w.value(number - own);
    let from = w.value(start + to);
    let tests = [w.value(to.not_below(zero)), w.value(to.below(size)), w.value(from.below(threads))];
    let there = tests.into_iter().reduce(|a, b| w.value(a.and(b))).unwrap_or(tests[0]);
    w.push(Op::Apply(Operator::Select, vec![there, from, number]), Ty::I64)
}
