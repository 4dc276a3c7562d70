//! Atomics: lane after lane. Memory of the block is this core's alone, and needs no more than that order.

use super::lines::line;
use super::value::{Lane, LaneForm, Value};
use super::writer::CWriter;
use super::{EmitError, expr};
use crate::back::tree::Tree;
use crate::code::{AtomicOp, Id, MemId, Var};
use crate::kernel::Space;
use crate::types::Ty;

/// Writes an atomic operation of the live lanes and binds the old values.
pub(super) fn write(
    w: &mut CWriter,
    bind: &Var,
    op: AtomicOp,
    memory: MemId,
    index: &[Id],
    args: &[Id],
) -> Result<(), EmitError> {
    let declared = &w.kernel.memories[memory.0 as usize];
    let ty = declared.ty;
    let kind = if declared.space == Space::Scratch { "own" } else { "atomic" };
    let (address, moving) = w.address(memory, index);
    let at = if w.wide { Lane::I64 } else { Lane::I32 };
    let lane = Lane::of(ty);
    w.file.lanes_64 |= at.is_wide() || lane.is_wide();
    let name = match op {
        AtomicOp::Update(operator) => operator.name(),
        AtomicOp::Exchange | AtomicOp::Store => "exchange",
        AtomicOp::CompareExchange => "compare_exchange",
        AtomicOp::Load => "load",
        // Claims are made lane by lane, in branches that are written for one.
        AtomicOp::Claim => return Err(EmitError::Threads(w.kernel.name.clone())),
    };
    let args: Vec<Tree> = args.iter().map(|&a| expr::spread(&w.get(a), lane)).collect();
    let unused = !w.uses.contains_key(&bind.id);
    let pointer = address.pointer();
    let mask = w.mask();
    let whole = ty.is_int() && matches!(op, AtomicOp::Update(_));
    if unused && whole && moving.is_none() {
        // All lanes meet at one element: they go there together.
        let call = Tree::call(format!("{kind}_{name}_all_{ty}"), [pointer, args[0].clone(), mask]);
        w.act(line![call, ";"]);
        return Ok(());
    }
    let zero = Value::uniform(Ty::I64, Tree::int(0));
    let offset = match moving {
        // The address has where the lanes begin already.
        Some(Value { form: LaneForm::Affine(_), .. }) => Tree::call(format!("iota_{}", at.name()), []),
        moving => expr::spread(&moving.unwrap_or(zero), at),
    };
    let wide = if at.is_wide() { "_wide" } else { "" };
    let passed = [pointer, offset].into_iter().chain(args).chain([mask]);
    let call = Tree::call(format!("{kind}_{name}_{ty}{wide}"), passed);
    if unused {
        w.act(line![call, ";"]);
    } else {
        w.bind(bind.id, Value::vector(ty, lane, call), true);
    }
    Ok(())
}

/// Numbers of a claim, for which the prelude has room.
const NUMBERS: usize = 7;

/// Writes a compare-and-exchange or a claim where one lane runs, on 32-bit integers, and binds the old value.
pub(super) fn write_one(
    w: &mut CWriter,
    bind: &Var,
    op: AtomicOp,
    memory: MemId,
    index: &[Id],
    args: &[Id],
) -> Result<(), EmitError> {
    let (address, _) = w.address(memory, index);
    let mut passed = vec![address.pointer()];
    for &arg in args {
        passed.push(w.scalar(arg)?);
    }
    let name = match op {
        AtomicOp::Claim => {
            passed.resize(2 + NUMBERS, Tree::int(0));
            "claim"
        }
        _ => "atomic_one_compare_exchange_i32",
    };
    let call = Tree::call(name, passed);
    if w.uses.contains_key(&bind.id) {
        w.bind(bind.id, Value::uniform(Ty::I32, call), true);
    } else {
        w.line(line![call, ";"]);
    }
    Ok(())
}
