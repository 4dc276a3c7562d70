//! `blend`: computes both sides of a small branch and selects.
//!
//! A branch costs a jump on a CPU and keeps lanes of a vector or subgroup apart; a handful of scalar operations costs
//! less. So an `if` whose bodies hold nothing but operators, conversions and constants, of a total cost of at most
//! 16 by the operator table, becomes `select`s. All operators are total, so computing the side that is not taken is
//! harmless.
//!
//! It does not touch a branch that reads an array or memory (the position may be inside on that side only), calls a
//! function, loops, or has an effect; and it does not look into how likely a side is.
//!
//! ```text
//! %2: f32 = if %0 (%1) |%3: f32| {               %4: f32 = neg %1
//!   %4: f32 = neg %3                             %2: f32 = select %0, %4, %1
//!   yield %4                               →
//! } else |%5: f32| { yield %5 }
//! ```

use crate::code::{Body, Class, Id, Op, Stmt};
use crate::ops::Operator;
use crate::program::Program;
use std::collections::HashMap;

/// The largest cost of both sides together.
const LIMIT: u32 = 16;

/// Runs the pass on a program.
pub fn run(program: Program) -> Program {
    super::each_root(program, root)
}

/// Runs the pass on a body that binds all the names it uses.
pub fn root(body: Body) -> Body {
    blended(body, &mut HashMap::new())
}

/// Rewrites a body, innermost branches first. `args` says what the parameters of dissolved branches stand for.
fn blended(mut body: Body, args: &mut HashMap<Id, Id>) -> Body {
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for mut stmt in body.stmts {
        for inner in stmt.op.bodies_mut() {
            *inner = blended(std::mem::take(inner), args);
        }
        match stmt.op {
            Op::If { cond, args: given, then, otherwise } if is_small(&then, &otherwise) => {
                for side in [&then, &otherwise] {
                    args.extend(side.params.iter().map(|p| p.id).zip(given.iter().copied()));
                }
                let results = then.results.iter().zip(&otherwise.results);
                let selects = stmt.binds.into_iter().zip(results).map(|(bind, (&yes, &no))| Stmt {
                    binds: vec![bind],
                    op: Op::Apply(Operator::Select, vec![cond, yes, no]),
                });
                stmts.extend(then.stmts.into_iter().chain(otherwise.stmts).chain(selects));
            }
            op => stmts.push(Stmt { binds: stmt.binds, op }),
        }
    }
    body.stmts = stmts;
    // The arguments of an inner branch may be the parameters of an outer one that is dissolved later, so names are
    // followed to the end.
    body.each_use_mut(&mut |id| {
        while let Some(&arg) = args.get(id) {
            *id = arg;
        }
    });
    body
}

fn is_small(then: &Body, otherwise: &Body) -> bool {
    let costs = then.stmts.iter().chain(&otherwise.stmts).map(|stmt| cost(&stmt.op));
    costs.sum::<Option<u32>>().is_some_and(|total| total <= LIMIT)
}

/// The cost of a scalar operation that may run without need; `None` for everything else.
fn cost(op: &Op) -> Option<u32> {
    match (op, op.class()) {
        (Op::Cast(..), _) => Some(1),
        (Op::Apply(operator, _), _) => Some(operator.row().cost),
        (_, Class::Scalar) => Some(0),
        (_, Class::Place | Class::Call | Class::Control | Class::Array | Class::Memory | Class::Meeting) => None,
    }
}
