//! `hoist`: moves scalar work out of the bodies it does not depend on.
//!
//! A constant, an extent, an operator, a conversion or a call whose operands are all bound outside the body of a
//! loop or an array operation is computed once, before it. Names are unique, so nothing is renamed.
//!
//! It never moves anything out of a branch: that the branch may not run is its point. It never moves a read (`at`): a
//! position made outside is inside only if the axis is not empty, which may be just what the body's not running says;
//! nor anything with a body. A call moves only if the function has no `while`, which might not end.
//!
//! ```text
//! %2: f32[N] = tabulate [N] |%3: i64| {          %4: f32 = exp %1
//!   %4: f32 = exp %1                             %2: f32[N] = tabulate [N] |%3: i64| {
//!   %5: f32 = at %0[%3]                    →       %5: f32 = at %0[%3]
//!   %6: f32 = mul %4, %5                           %6: f32 = mul %4, %5
//!   yield %6                                       yield %6
//! }                                              }
//! ```

use crate::code::{Body, Class, FnId, Function, Id, Op, Stmt};
use crate::kernel::Kernel;
use crate::program::Program;
use std::collections::HashSet;

/// Runs the pass on a program.
pub fn run(program: Program) -> Program {
    let ends = functions_that_end(&program.functions);
    super::each_root(program, |body| hoisted(body, &ends))
}

/// Runs the pass on a kernel.
pub fn kernel(kernel: Kernel) -> Kernel {
    let ends = functions_that_end(&kernel.functions);
    super::each_kernel_root(kernel, |body| hoisted(body, &ends))
}

/// Runs the pass on a body that binds all the names it uses and calls these functions.
pub fn root(body: Body, functions: &[Function]) -> Body {
    hoisted(body, &functions_that_end(functions))
}

/// For each function: is there no `while` in it, nor in what it calls?
fn functions_that_end(functions: &[Function]) -> Vec<bool> {
    let mut ends: Vec<bool> = vec![];
    for function in functions {
        ends.push(body_ends(&function.body, &ends));
    }
    ends
}

fn body_ends(body: &Body, ends: &[bool]) -> bool {
    body.stmts.iter().all(|stmt| match &stmt.op {
        Op::While { .. } => false,
        Op::Call(FnId(callee), _) => ends.get(*callee as usize).copied().unwrap_or(false),
        op => op.bodies().into_iter().all(|inner| body_ends(inner, ends)),
    })
}

fn hoisted(mut body: Body, ends: &[bool]) -> Body {
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for mut stmt in body.stmts {
        let branch = matches!(stmt.op, Op::If { .. });
        for inner in stmt.op.bodies_mut() {
            *inner = hoisted(std::mem::take(inner), ends);
            if !branch {
                lift(inner, ends, &mut stmts);
            }
        }
        stmts.push(stmt);
    }
    body.stmts = stmts;
    body
}

/// Moves what does not depend on the body to the end of `out`.
fn lift(body: &mut Body, ends: &[bool], out: &mut Vec<Stmt>) {
    let mut bound: HashSet<Id> = body.params.iter().map(|p| p.id).collect();
    let mut stay = Vec::with_capacity(body.stmts.len());
    for stmt in std::mem::take(&mut body.stmts) {
        let mut depends = false;
        stmt.op.each_operand(&mut |id| depends |= bound.contains(&id));
        if !depends && moves(&stmt.op, ends) {
            out.push(stmt);
        } else {
            bound.extend(stmt.binds.iter().map(|b| b.id));
            stay.push(stmt);
        }
    }
    body.stmts = stay;
}

/// Is it an operation that may be computed where it was not asked for?
fn moves(op: &Op, ends: &[bool]) -> bool {
    match (op, op.class()) {
        (Op::Call(FnId(callee), _), _) => ends.get(*callee as usize).copied().unwrap_or(false),
        (_, Class::Scalar) => true,
        (_, Class::Place | Class::Call | Class::Control | Class::Array | Class::Memory | Class::Meeting) => false,
    }
}
