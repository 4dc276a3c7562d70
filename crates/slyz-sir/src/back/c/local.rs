//! Memory of one lane: arrays in the function of the lanes, with the elements of neighbouring lanes side by side.
//!
//! An element whose index is the same in all lanes is one vector; where lanes differ, it is gathered.

use super::expr;
use super::value::{Bind, Expr, Form, Lane, Value, memory_type};
use super::writer::{Live, Writer};
use crate::code::{Body, MemId, Op};
use crate::kernel::{Kernel, Space};
use crate::size::Size;
use crate::types::Ty;

/// The local memories that a body uses.
pub(super) fn used(kernel: &Kernel, body: &Body) -> Vec<MemId> {
    fn find(body: &Body, found: &mut Vec<MemId>) {
        for stmt in &body.stmts {
            if let Op::Load { memory, .. } | Op::Store { memory, .. } = stmt.op {
                found.push(memory);
            }
            stmt.op.bodies().into_iter().for_each(|b| find(b, found));
        }
    }
    let mut found = vec![];
    find(body, &mut found);
    found.sort();
    found.dedup();
    found.retain(|id| kernel.memories[id.0 as usize].space == Space::Local);
    found
}

/// Their arrays.
pub(super) fn declarations(w: &Writer, memories: &[MemId]) -> String {
    let one = |id: &MemId| {
        let memory = &w.kernel.memories[id.0 as usize];
        let elements = Size::product(&memory.shape).constant().unwrap_or(0).max(1);
        format!("    {} {}[{elements} * W];\n", memory_type(memory.ty), w.memory_name(*id))
    };
    memories.iter().map(one).collect()
}

/// Where an element of all lanes lies: next to each other, or at offsets.
pub(super) fn address(
    w: &Writer,
    memory: MemId,
    start: Option<Expr>,
    moving: Option<Value>,
) -> (String, Option<Value>) {
    let name = w.memory_name(memory);
    let address = start.map_or(name.to_string(), |s| format!("{name} + {} * W", s.under(Bind::Atom)));
    let at = if w.wide { Lane::I64 } else { Lane::I32 };
    let iota = Expr::atom(format!("iota_{}()", at.name()));
    let moving = match moving {
        None => Value { ty: Ty::I64, form: Form::Affine(Expr::atom("0")), range: None },
        Some(moving) => {
            let whole = Expr::infix(&expr::spread(&moving, at), "*", &Expr::atom("W"), Bind::Product);
            Value::vector(Ty::I64, at, Expr::infix(&whole, "+", &iota, Bind::Sum))
        }
    };
    (address, Some(moving))
}

/// Sets an element of the live lanes.
pub(super) fn store(w: &Writer, ty: Ty, address: &str, value: &str) -> String {
    match &w.live {
        Live::Mask(_) => {
            let kept = format!("select_{}({}, {value}, load_{ty}({address}, W))", Lane::of(ty).name(), w.mask());
            format!("store_{ty}({address}, {kept}, W);")
        }
        Live::Block | Live::Count | Live::All => format!("store_{ty}({address}, {value}, W);"),
    }
}
