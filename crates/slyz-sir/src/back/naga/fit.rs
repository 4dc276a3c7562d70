//! What a graph asks of a GPU before it is lowered for it.

use super::EmitError;
use crate::code::{Body, Op, Stmt};
use crate::graph::Graph;
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::types::Ty;

/// An error unless the graph is right where `i64` is a 32-bit number ([`Target::int64`](super::Target::int64)): code may not make larger
/// numbers out of positions, nor work on 64-bit data.
pub fn check_narrow(graph: &Graph) -> Result<(), EmitError> {
    let lacks = |what: &str| EmitError::Lacks {
        kernel: graph.name.clone(),
        what: what.into(),
        feature: "SHADER_INT64",
        remedy: "Use 32-bit integers",
    };
    fn multiplies(body: &Body) -> bool {
        body.stmts.iter().any(|stmt| {
            let wide = stmt.binds.first().is_some_and(|b| b.ty.elem() == Ty::I64);
            let grows = matches!(&stmt.op, Op::Apply(Operator::Mul | Operator::Fma | Operator::Shl, _));
            wide && grows || stmt.op.bodies().into_iter().any(multiplies)
        })
    }
    let given = graph.body.params.iter().any(|p| p.ty.elem() == Ty::I64);
    let results = |stmt: &Stmt| stmt.binds.iter().any(|b| graph.body.results.contains(&b.id) && b.ty.elem() == Ty::I64);
    if given || graph.body.stmts.iter().any(results) {
        return Err(lacks("64-bit integers (arrays or scalars of i64)"));
    }
    if graph.functions.iter().map(|f| &f.body).chain([&graph.body]).any(multiplies) {
        return Err(lacks("64-bit integers (products of i64)"));
    }
    Ok(())
}

/// The machine as the graph finds it: a block's memory has a word for every element, however small.
pub fn machine_for(graph: &Graph, machine: Machine) -> Machine {
    fn small(body: &Body) -> bool {
        let vars = body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds));
        vars.into_iter().any(|v| v.ty.elem().bits() < 32) || body.stmts.iter().flat_map(|s| s.op.bodies()).any(small)
    }
    if small(&graph.body) { Machine { shared_bytes: machine.shared_bytes / 4, ..machine } } else { machine }
}
