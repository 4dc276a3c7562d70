//! What people would call a value, by what it is for: a sum, the largest, the end of a loop, a row, a column.

use super::expr::Expr;
use crate::code::{Body, Id, Op};
use crate::kernel::{Kernel, Space};
use crate::ops::Operator;
use std::collections::HashMap;

/// The name of a loop's state where nothing says what it is.
const STATE: &str = "acc";

/// Names by what reads the values. Of several the first says it.
pub(super) fn roles(kernel: &Kernel) -> HashMap<Id, String> {
    let mut found = HashMap::new();
    read_by(kernel, &kernel.body, &mut found);
    found
}

fn read_by(kernel: &Kernel, body: &Body, found: &mut HashMap<Id, String>) {
    for stmt in &body.stmts {
        match &stmt.op {
            Op::For { hi, .. } => {
                found.entry(*hi).or_insert_with(|| "end".into());
            }
            Op::Load { memory, index } | Op::Store { memory, index, .. } => {
                let space = kernel.memories.get(memory.0 as usize).map(|memory| memory.space);
                if let (Some(Space::Global(_)), [row, column]) = (space, &index[..]) {
                    found.entry(*row).or_insert_with(|| "row".into());
                    found.entry(*column).or_insert_with(|| "column".into());
                }
            }
            _ => {}
        }
        stmt.op.bodies().into_iter().for_each(|inner| read_by(kernel, inner, found));
    }
}

/// What the state number `k` of a loop is, by how a turn makes the next: `body` has it as its parameter `first + k`.
pub(super) fn state(body: &Body, first: usize, k: usize) -> &'static str {
    let own = body.params.get(first + k).map(|param| param.id);
    own.and_then(|own| made_of(body, k, own)).unwrap_or(STATE)
}

/// How a body makes its result number `k` out of a value.
fn made_of(body: &Body, k: usize, own: Id) -> Option<&'static str> {
    let result = body.results.get(k)?;
    let (stmt, place) =
        body.stmts.iter().find_map(|stmt| Some((stmt, stmt.binds.iter().position(|bind| bind.id == *result)?)))?;
    match &stmt.op {
        Op::Apply(operator, args) if args.contains(&own) => called(*operator),
        Op::If { then, otherwise, .. } => [then, otherwise].into_iter().find_map(|side| made_of(side, place, own)),
        Op::For { init, body, .. } if init.get(place) == Some(&own) => {
            made_of(body, place, body.params.get(place + 1)?.id)
        }
        _ => None,
    }
}

/// What a test is called: of a thread, whether it is the first, or whether there is anything for it.
pub(super) fn test(operator: Operator, with: Option<&Expr>) -> &'static str {
    let zero = with.and_then(|value| value.literal).is_some_and(|literal| literal.ty.is_int() && literal.as_int() == 0);
    match operator {
        Operator::Eq if zero => "first",
        Operator::Lt | Operator::Ge => "inside",
        _ => "is",
    }
}

fn called(operator: Operator) -> Option<&'static str> {
    match operator {
        Operator::Add | Operator::Fma => Some("sum"),
        Operator::Mul => Some("product"),
        Operator::Max => Some("largest"),
        Operator::Min => Some("smallest"),
        _ => None,
    }
}
