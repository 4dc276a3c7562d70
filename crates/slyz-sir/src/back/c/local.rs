//! Memory of one lane: arrays in the function of the lanes, with the elements of neighbouring lanes side by side.
//!
//! An element whose index is the same in all lanes is one vector; where lanes differ, it is gathered.

use super::expr;
use super::lines::{Code, line};
use super::memory::Address;
use super::value::{Lane, LaneForm, Value, memory_type};
use super::writer::{CWriter, Live};
use crate::back::tree::{Infix, Tree};
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
pub(super) fn declarations(w: &CWriter, memories: &[MemId]) -> Code {
    let mut code = Code::default();
    for id in memories {
        let memory = &w.kernel.memories[id.0 as usize];
        let elements = Size::product(&memory.shape).constant().unwrap_or(0).max(1);
        code.add(1, line![memory_type(memory.ty), " ", w.memory_name(*id), "[", expr::count(elements), " * W];"]);
    }
    code
}

/// Where an element of all lanes lies: next to each other, or at offsets.
pub(super) fn address(
    w: &CWriter,
    memory: MemId,
    start: Option<Tree>,
    moving: Option<Value>,
) -> (Address, Option<Value>) {
    let width = Tree::name("W");
    let offset = start.map(|start| Tree::infix(Infix::Mul, start, width.clone()));
    let at = if w.wide { Lane::I64 } else { Lane::I32 };
    let iota = Tree::call(format!("iota_{}", at.name()), []);
    let moving = match moving {
        None => Value { ty: Ty::I64, form: LaneForm::Affine(Tree::int(0)), range: None },
        Some(moving) => {
            let whole = Tree::infix(Infix::Mul, expr::spread(&moving, at), width);
            Value::vector(Ty::I64, at, Tree::infix(Infix::Add, whole, iota))
        }
    };
    (Address { memory: Tree::name(w.memory_name(memory)), offset }, Some(moving))
}

/// Sets an element of the live lanes.
pub(super) fn store(w: &CWriter, ty: Ty, pointer: Tree, value: Tree) -> Tree {
    let width = Tree::name("W");
    let kept = match &w.live {
        Live::Mask(_) => {
            let before = Tree::call(format!("load_{ty}"), [pointer.clone(), width.clone()]);
            Tree::call(format!("select_{}", Lane::of(ty).name()), [w.mask(), value, before])
        }
        Live::Block | Live::Count | Live::All => value,
    };
    Tree::call(format!("store_{ty}"), [pointer, kept, width])
}
