//! Folds over all of a view take its elements in the order of memory.
//!
//! A sum over a turned matrix that goes along its rows steps over whole columns of memory. Where operands may change places the
//! axis along which neighbours in memory lie is walked innermost instead. That is another order of the same elements, so floats may
//! round otherwise than for a copy of the view; all devices get this program, and agree on it.

use crate::code::{Body, Id, Op, Stmt};
use crate::ops::Operator;
use crate::program::Program;
use std::collections::HashMap;

/// The program with its folds in the order of memory.
pub(super) fn of_memory(mut program: Program) -> Program {
    each(&mut program.body);
    program
}

fn each(body: &mut Body) {
    for stmt in &mut body.stmts {
        if let Op::Fold { shape, body, monoid } = &mut stmt.op
            && monoid.commutative
            && let Some(axis) = nearest(body, shape.len())
        {
            shape[axis..].rotate_left(1);
            body.params[axis..].rotate_left(1);
        }
        stmt.op.bodies_mut().into_iter().for_each(each);
    }
}

/// The axis that most reads go along from neighbour to neighbour, if that is not the last one.
fn nearest(body: &Body, axes: usize) -> Option<usize> {
    let mut votes = vec![0; axes];
    let sums: HashMap<Id, [Id; 2]> = body.stmts.iter().filter_map(sum).collect();
    for stmt in &body.stmts {
        let Op::At { index, .. } = &stmt.op else { continue };
        let Some(&last) = index.last() else { continue };
        let mut terms = vec![last];
        while let Some(term) = terms.pop() {
            if let Some(both) = sums.get(&term) {
                terms.extend(both);
            } else if let Some(axis) = body.params.iter().take(axes).position(|param| param.id == term) {
                votes[axis] += 1;
            }
        }
    }
    let last = votes.pop()?;
    let (axis, &most) = votes.iter().enumerate().rev().max_by_key(|&(_, votes)| votes)?;
    (most > last).then_some(axis)
}

/// The terms of a sum.
fn sum(Stmt { binds, op }: &Stmt) -> Option<(Id, [Id; 2])> {
    match (&binds[..], op) {
        ([var], Op::Apply(Operator::Add, args)) => Some((var.id, [*args.first()?, *args.get(1)?])),
        _ => None,
    }
}
