//! Values that are made before they are used.
//!
//! Some bodies cannot be run where they stand, and are made into an array of their own first, which they then read:
//!
//! * of a fold, scan, scatter or filter, if a loop inside carries arrays: lanes and turns have no memory for those;
//! * of a scatter onto an array that it reads, since the array may be changed in place.
//!
//! ```text
//! %y = scatter [N] into [M] onto (%x) |%i| { … at %x[%j] … yield %p, %v } with …
//!   ⇒
//! %s, %t = tabulate [N] |%i| { … at %x[%j] … yield %p, %v }
//! %y = scatter [N] into [M] onto (%x) |%k| { %p' = at %s[%k]  %v' = at %t[%k]  yield %p', %v' } with …
//! ```

use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use std::borrow::Cow;
use std::collections::HashMap;

/// The program with all such bodies apart.
pub(super) fn staged(program: &Program) -> Cow<'_, Program> {
    if !needs_stage(&program.body) {
        return Cow::Borrowed(program);
    }
    let mut staged = program.clone();
    let mut fresh = program.fresh_ids();
    let mut types = HashMap::new();
    super::planning::collect_types(&program.body, &mut types);
    stage(&mut staged.body, &types, &mut fresh);
    Cow::Owned(staged)
}

fn needs_stage(body: &Body) -> bool {
    body.stmts.iter().any(|stmt| stands_apart(&stmt.op) || stmt.op.bodies().into_iter().any(needs_stage))
}

/// Must the body of the operation be made first?
fn stands_apart(op: &Op) -> bool {
    match op {
        Op::Fold { body, .. } | Op::Scan { body, .. } | Op::Filter { body, .. } => body.has_array_loop(),
        Op::Scatter { body, onto, .. } => {
            let mut reads = false;
            body.each_free(&mut |id| reads |= onto.contains(&id));
            reads || body.has_array_loop()
        }
        _ => false,
    }
}

fn stage(body: &mut Body, types: &HashMap<Id, Type>, fresh: &mut dyn FnMut() -> Id) {
    let mut out = Vec::with_capacity(body.stmts.len());
    for mut stmt in std::mem::take(&mut body.stmts) {
        for inner in stmt.op.bodies_mut() {
            stage(inner, types, fresh);
        }
        if stands_apart(&stmt.op) {
            out.push(take_apart(&mut stmt.op, types, fresh));
        }
        out.push(stmt);
    }
    body.stmts = out;
}

/// The tabulate of the operation's body, which reads it from here on.
fn take_apart(op: &mut Op, types: &HashMap<Id, Type>, fresh: &mut dyn FnMut() -> Id) -> Stmt {
    let shape: Vec<Size> = match op {
        Op::Fold { shape, .. } | Op::Scan { shape, .. } | Op::Scatter { shape, .. } => shape.clone(),
        Op::Filter { extent, .. } => vec![extent.clone()],
        other => unreachable!("has no body over positions: {other:?}"),
    };
    let positions: Vec<Var> = shape.iter().map(|_| Var { id: fresh(), ty: Type::Scalar(Ty::I64) }).collect();
    let index: Vec<Id> = positions.iter().map(|p| p.id).collect();
    let tys: Vec<Ty> = op.bodies()[0].results.iter().map(|id| types[id].elem()).collect();
    let arrays: Vec<Var> = tys.iter().map(|&ty| Var { id: fresh(), ty: Type::Array(ty, shape.clone()) }).collect();
    let elements: Vec<Var> = tys.iter().map(|&ty| Var { id: fresh(), ty: Type::Scalar(ty) }).collect();
    let read = |(array, element): (&Var, &Var)| {
        let op = Op::At { array: array.id, index: index.clone() };
        Stmt { binds: vec![element.clone()], op }
    };
    let stmts = arrays.iter().zip(&elements).map(read).collect();
    let results = elements.iter().map(|e| e.id).collect();
    let reader = Body { params: positions, stmts, results };
    let body = match op {
        Op::Fold { body, .. } | Op::Scan { body, .. } | Op::Scatter { body, .. } | Op::Filter { body, .. } => body,
        other => unreachable!("has no body over positions: {other:?}"),
    };
    let body = std::mem::replace(body, reader);
    Stmt { binds: arrays, op: Op::Tabulate { shape, body } }
}
