//! How deep code nests.
//!
//! Everything that walks SIR does so by recursion. This file is the one that may be handed code of any depth: it
//! stops at [`MAX_NESTING`], and whoever has asked it first can recurse without fear for the stack.

use crate::code::{Body, Function, Op, Type};
use crate::size::Size;

/// The most bodies inside each other, the bodies of called functions included, and the most operations inside each
/// other in a size. Far more than programs have; few enough for the stack of any thread.
pub const MAX_NESTING: usize = 128;

/// Code that nests too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code or a size nests deeper than {MAX_NESTING} levels; compute parts of it in separate statements")]
pub struct TooDeep;

/// Checks the functions and then the body that calls them.
pub fn check<'a>(functions: &'a [Function], body: &'a Body) -> Result<(), TooDeep> {
    let mut known = Vec::with_capacity(functions.len());
    for function in functions {
        known.push(depth_of(&function.body, 0, &known)?);
    }
    depth_of(body, 0, &known).map(drop)
}

/// Checks one size.
pub fn check_size(size: &Size) -> Result<(), TooDeep> {
    sized(size, 0)
}

/// The depth of a body that is itself `level` deep. A call of a function whose depth is not known is another rule's
/// business: functions call only functions before them.
fn depth_of(body: &Body, level: usize, known: &[usize]) -> Result<usize, TooDeep> {
    if level >= MAX_NESTING {
        return Err(TooDeep);
    }
    body.params.iter().try_for_each(typed)?;
    let mut depth = 1;
    for stmt in &body.stmts {
        stmt.binds.iter().try_for_each(typed)?;
        stmt.op.sizes().into_iter().try_for_each(|size| sized(size, 0))?;
        if let Op::Call(function, _) = &stmt.op {
            depth = depth.max(1 + known.get(function.0 as usize).copied().unwrap_or(0));
        }
        for inner in stmt.op.bodies() {
            depth = depth.max(1 + depth_of(inner, level + 1, known)?);
        }
    }
    if level + depth > MAX_NESTING { Err(TooDeep) } else { Ok(depth) }
}

fn typed(var: &crate::code::Var) -> Result<(), TooDeep> {
    match &var.ty {
        Type::Scalar(_) => Ok(()),
        Type::Array(_, shape) => shape.iter().try_for_each(|size| sized(size, 0)),
    }
}

fn sized(size: &Size, level: usize) -> Result<(), TooDeep> {
    if level >= MAX_NESTING {
        return Err(TooDeep);
    }
    match size {
        Size::Const(_) | Size::Var(_) => Ok(()),
        Size::Add(a, b) | Size::Mul(a, b) | Size::Min(a, b) => {
            sized(a, level + 1)?;
            sized(b, level + 1)
        }
        Size::CeilDiv(a, _) | Size::Tri(a) => sized(a, level + 1),
    }
}
