//! Branches that lanes take one after the other, as plain scalar code.
//!
//! A fault is told by a claim, which lanes make one by one anyway, and hardly ever. As vectors the code for it would be long, and
//! its 64-bit positions would make every vector of the file half as many lanes.

use super::EmitError;
use super::expr;
use super::lines::{Line, line};
use super::value::{Lane, LaneForm, Value, scalar_type};
use super::writer::{CWriter, Live};
use crate::back::tree::{Infix, Tree};
use crate::code::{AtomicOp, Body, Op};
use crate::kernel::{Kernel, Space};
use crate::types::Ty;

/// Does the body begin with an exchange or a claim, and hold nothing that takes vectors?
pub(super) fn is_serial(kernel: &Kernel, body: &Body) -> bool {
    let first = body.stmts.iter().find(|s| s.op.has_effect());
    first.is_some_and(|s| matches!(s.op, Op::Atomic { .. })) && is_scalar(kernel, body)
}

fn is_scalar(kernel: &Kernel, body: &Body) -> bool {
    body.stmts.iter().all(|stmt| {
        let here = match &stmt.op {
            Op::Atomic { op, memory, .. } => {
                let memory = &kernel.memories[memory.0 as usize];
                let one = matches!(op, AtomicOp::CompareExchange | AtomicOp::Claim);
                one && memory.ty == Ty::I32 && memory.space != Space::Scratch
            }
            Op::Load { memory, .. } | Op::Store { memory, .. } => {
                kernel.memories[memory.0 as usize].space != Space::Local
            }
            Op::Lanes { .. } | Op::Prefixes { .. } => false,
            _ => true,
        };
        here && stmt.op.bodies().into_iter().all(|inner| is_scalar(kernel, inner))
    })
}

/// Writes the body for each lane of a mask.
pub(super) fn write(w: &mut CWriter, mask: &str, body: &Body) -> Result<(), EmitError> {
    let lane = w.fresh("l");
    let each = w.ways.as_ref().map_or(Line::default(), |ways| line!["WAYS(u, ", ways, ") "]);
    let number = Tree::name(&lane);
    let on = Tree::index(w.each(mask), number.clone());
    let head = line![each, "for (int ", lane, " = 0; ", lane, " < W; ", lane, "++) if (", on, ")"];
    let mut used = vec![];
    body.each_free(&mut |id| used.push(id));
    used.extend(body.params.iter().map(|p| p.id));
    let before: Vec<_> = used.into_iter().filter_map(|id| Some((id, w.values.get(&id)?.clone()))).collect();
    for (id, value) in &before {
        let one = one(w, value, &number);
        w.values.insert(*id, one);
    }
    let live = std::mem::replace(&mut w.live, Live::Block);
    let ways = w.ways.take();
    let result = w.with_own_names(|w| w.block(head, |w| w.stmts(body)));
    (w.live, w.ways) = (live, ways);
    w.values.extend(before);
    result
}

/// What a value is in one lane.
fn one(w: &CWriter, value: &Value, number: &Tree) -> Value {
    let form = match &value.form {
        LaneForm::Uniform(e) => LaneForm::Uniform(e.clone()),
        LaneForm::Affine(base) => LaneForm::Uniform(Tree::infix(Infix::Add, base.clone(), number.clone())),
        LaneForm::Clamped(..) | LaneForm::Vector(..) => {
            let lane = match &value.form {
                LaneForm::Vector(lane, _) => *lane,
                _ if w.wide => Lane::I64,
                _ => Lane::I32,
            };
            let taken = expr::taken(lane, expr::spread(value, lane), number.clone());
            LaneForm::Uniform(Tree::cast(scalar_type(value.ty), taken))
        }
    };
    Value { ty: value.ty, form, range: value.range }
}
