//! Atomics: lane after lane. Memory of the block is this core's alone, and needs no more than that order.

use super::value::{Expr, Form, Lane, Value};
use super::writer::Writer;
use super::{EmitError, expr};
use crate::code::{AtomicOp, Id, MemId, Var};
use crate::kernel::Space;
use crate::types::Ty;

/// Writes an atomic operation of the live lanes and binds the old values.
pub(super) fn write(w: &mut Writer, bind: &Var, op: AtomicOp, memory: MemId, index: &[Id], args: &[Id]) {
    let declared = &w.kernel.memories[memory.0 as usize];
    let (ty, kind) = (declared.ty, if declared.space == Space::Scratch { "own" } else { "atomic" });
    let (address, moving) = w.address(memory, index);
    let at = if w.wide { Lane::I64 } else { Lane::I32 };
    let lane = Lane::of(ty);
    w.file.lanes_64 |= at.is_wide() || lane.is_wide();
    let name = match op {
        AtomicOp::Update(operator) => operator.name(),
        AtomicOp::Exchange | AtomicOp::Store => "exchange",
        AtomicOp::CompareExchange => "compare_exchange",
        AtomicOp::Load => "load",
    };
    let args: Vec<String> = args.iter().map(|&a| expr::spread(&w.get(a), lane).text).collect();
    let unused = !w.uses.contains_key(&bind.id);
    let mask = w.mask();
    let whole = ty.is_int() && matches!(op, AtomicOp::Update(_));
    if unused && whole && moving.is_none() {
        // All lanes meet at one element: they go there together.
        let call = format!("{kind}_{name}_all_{ty}({address}, {}, {mask});", args[0]);
        return w.act(&call);
    }
    let zero = Value::uniform(Ty::I64, Expr::atom("0"));
    let offset = match moving {
        // The address has where the lanes begin already.
        Some(Value { form: Form::Affine(_), .. }) => format!("iota_{}()", at.name()),
        moving => expr::spread(&moving.unwrap_or(zero), at).text,
    };
    let wide = if at.is_wide() { "_wide" } else { "" };
    let texts = [&[address, offset], &args[..], &[mask]].concat();
    let call = Expr::call(&format!("{kind}_{name}_{ty}{wide}"), &texts);
    if unused {
        w.act(&format!("{};", call.text));
    } else {
        w.bind(bind.id, Value::vector(ty, lane, call), true);
    }
}

/// Writes a compare-and-exchange where one lane runs, on 32-bit integers, and binds the old value.
pub(super) fn write_one(w: &mut Writer, bind: &Var, memory: MemId, index: &[Id], args: &[Id]) -> Result<(), EmitError> {
    let (address, _) = w.address(memory, index);
    let args = [address, w.scalar(args[0])?.text, w.scalar(args[1])?.text];
    let call = Expr::call("atomic_one_compare_exchange_i32", &args);
    if w.uses.contains_key(&bind.id) {
        w.bind(bind.id, Value::uniform(Ty::I32, call), true);
    } else {
        w.line(&format!("{};", call.text));
    }
    Ok(())
}
