//! Whether the loops of a kernel end.
//!
//! Counted loops do. A `while` does if it goes on only as long as a number is below a constant, and each turn makes the number
//! larger: that is how code of this compiler doubles distances. Programs may have others, which nobody can vouch for.

use crate::code::{Body, Id, Op};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::types::Ty;
use std::collections::HashMap;

/// Is every loop of the kernel seen to end?
pub(super) fn all_loops_end(kernel: &Kernel) -> bool {
    let bodies = || kernel.functions.iter().map(|f| &f.body).chain([&kernel.body]);
    let mut constants = HashMap::new();
    bodies().for_each(|body| find_constants(body, &mut constants));
    bodies().all(|body| ends(body, &constants))
}

pub(super) fn find_constants(body: &Body, constants: &mut HashMap<Id, i128>) {
    for stmt in &body.stmts {
        if let (Op::Const(scalar), [bind]) = (&stmt.op, &stmt.binds[..])
            && scalar.ty == Ty::I64
        {
            constants.insert(bind.id, scalar.as_int());
        }
        stmt.op.bodies().into_iter().for_each(|body| find_constants(body, constants));
    }
}

fn ends(body: &Body, constants: &HashMap<Id, i128>) -> bool {
    body.stmts.iter().all(|stmt| {
        let itself = match &stmt.op {
            Op::While { init, cond, body } => grows_to_an_end(init, cond, body, constants).is_some(),
            _ => true,
        };
        itself && stmt.op.bodies().into_iter().all(|body| ends(body, constants))
    })
}

/// Looks for `while n < END { n = n * FACTOR, or n + STEP }`.
pub(super) fn grows_to_an_end(init: &[Id], cond: &Body, body: &Body, constants: &HashMap<Id, i128>) -> Option<()> {
    let defined = |body: &Body, id: Id| {
        let stmt = body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id))?;
        match &stmt.op {
            Op::Apply(operator, args) => Some((*operator, args.clone())),
            _ => None,
        }
    };
    let (Operator::Lt, test) = defined(cond, *cond.results.first()?)? else { return None };
    let place = cond.params.iter().position(|param| param.id == test[0])?;
    let first = constants.get(init.get(place)?)?;
    let end = constants.get(&test[1])?;
    let (operator, args) = defined(body, *body.results.get(place)?)?;
    let by = constants.get(args.get(1)?)?;
    let grows = match operator {
        Operator::Mul => *by >= 2 && *first >= 1,
        Operator::Add => *by >= 1,
        _ => false,
    };
    // Far from the largest number, so that nothing wraps around.
    let near = |n: i128| n <= i32::MAX.into();
    (args[0] == body.params.get(place)?.id && grows && near(*by) && near(*end)).then_some(())
}
