//! What code costs: to run, and to be compiled.

use crate::code::{Body, Class, Op};
use crate::size::Size;

/// Cost of reading an element that is stored; a store costs twice that.
pub(super) const LOAD: u64 = 2;
/// The cost of something that runs an unknown number of times.
pub(super) const MANY: u64 = 1 << 20;

/// What one run of a body costs, in additions.
pub(crate) fn cost(body: &Body) -> u64 {
    body.stmts.iter().fold(0, |sum: u64, s| sum.saturating_add(stmt_cost(&s.op)))
}

pub(super) fn stmt_cost(op: &Op) -> u64 {
    let times = |shape: &[Size], each: u64| match Size::product(shape).constant() {
        Some(n) => each.saturating_mul(n),
        None => each.max(1).saturating_mul(MANY),
    };
    match op {
        Op::Const(_) | Op::Extent(_) | Op::Cast(..) | Op::Bitcast(..) => 0,
        Op::Apply(operator, _) => operator.row().cost as u64,
        Op::At { .. } => LOAD,
        Op::Call(..) => CALL,
        Op::If { then, otherwise, .. } => cost(then).max(cost(otherwise)) + 1,
        Op::For { body, .. } => (cost(body) + 1).saturating_mul(16),
        Op::While { cond: c, body, .. } => (cost(c) + cost(body) + 1).saturating_mul(64),
        Op::Tabulate { shape, body } => times(shape, cost(body) + 2 * LOAD),
        Op::Fold { shape, body, monoid }
        | Op::Scan { shape, body, monoid }
        | Op::Scatter { shape, body, monoid, .. } => times(shape, cost(body) + cost(&monoid.combine)),
        Op::Sort { shape, body, .. } => times(shape, cost(body) + PLACE),
        _ => MANY,
    }
}

/// The cost of finding the place of an element in an order.
const PLACE: u64 = 64;
/// The cost of a call.
const CALL: u64 = 40;

/// How much code a statement becomes, in additions: loops are written once, however often they run.
pub(super) fn weight(op: &Op) -> u64 {
    let own = match (op, op.class()) {
        (Op::Const(_) | Op::Extent(_), _) => 0,
        (Op::Apply(operator, _), _) => u64::from(operator.row().cost.max(1)),
        (_, Class::Call) => CALL,
        (_, Class::Scalar | Class::Place | Class::Control | Class::Array | Class::Memory | Class::Meeting) => 1,
    };
    own + op.bodies().into_iter().map(body_weight).sum::<u64>()
}

/// The same of all statements of a body.
pub(super) fn body_weight(body: &Body) -> u64 {
    body.stmts.iter().map(|stmt| weight(&stmt.op)).sum()
}
