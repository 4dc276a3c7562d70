//! Rows that a block had better compute again: their elements cost less than a way through memory and back.

use crate::code::{Body, Id, Op, Stmt};
use crate::size::Size;
use std::collections::{HashMap, HashSet};

/// What an element may cost, in additions, with all that is computed again for it.
const MOST_COST: u64 = 64;
/// Loops that may read a row.
const MOST_LOOPS: usize = 3;

/// The rows of a body that are cheap and read only at the position that a loop over such a row is at.
pub(super) fn rows(body: &Body) -> HashSet<Id> {
    let mut costs: HashMap<Id, u64> = HashMap::new();
    for stmt in &body.stmts {
        let Op::Tabulate { shape, body: element } = &stmt.op else { continue };
        let [extent] = &shape[..] else { continue };
        let Some(cost) = cost(element, &costs).filter(|&cost| cost <= MOST_COST) else { continue };
        let is_row = |id: Id| !body.results.contains(&id) && is_followed(body, id, extent);
        if stmt.binds.iter().all(|bind| bind.ty.shape().len() == 1 && is_row(bind.id)) {
            costs.extend(stmt.binds.iter().map(|bind| (bind.id, cost)));
        }
    }
    costs.into_keys().collect()
}

/// What an element costs, unless it takes a loop.
fn cost(body: &Body, again: &HashMap<Id, u64>) -> Option<u64> {
    body.stmts.iter().try_fold(0u64, |sum, stmt| {
        let own = match &stmt.op {
            Op::Apply(operator, _) => operator.row().cost.into(),
            Op::At { array, .. } => again.get(array).copied().unwrap_or(4),
            Op::Const(_) | Op::Extent(_) | Op::Cast(..) | Op::Bitcast(..) => 1,
            Op::If { then, otherwise, .. } => cost(then, again)?.saturating_add(cost(otherwise, again)?),
            _ => return None,
        };
        Some(sum.saturating_add(own))
    })
}

/// Is the row read by few loops of the body, and by each at its own position?
fn is_followed(body: &Body, row: Id, extent: &Size) -> bool {
    let mut loops = 0;
    for stmt in &body.stmts {
        if !mentions(stmt, row) {
            continue;
        }
        loops += 1;
        let inner = match &stmt.op {
            Op::Tabulate { shape, body } | Op::Fold { shape, body, .. } if shape[..] == [extent.clone()] => body,
            _ => return false,
        };
        let turn = inner.params[0].id;
        let mut operand = false;
        stmt.op.each_operand(&mut |id| operand |= id == row);
        if operand || !reads_own(inner, row, turn) {
            return false;
        }
    }
    loops <= MOST_LOOPS
}

fn mentions(stmt: &Stmt, id: Id) -> bool {
    let mut found = false;
    stmt.op.each_operand(&mut |operand| found |= operand == id);
    let inside = |body: &&Body| body.results.contains(&id) || body.stmts.iter().any(|stmt| mentions(stmt, id));
    found || stmt.op.bodies().iter().any(inside)
}

fn reads_own(body: &Body, row: Id, turn: Id) -> bool {
    body.stmts.iter().all(|stmt| match &stmt.op {
        Op::At { array, index } if *array == row => index[..] == [turn],
        Op::If { then, otherwise, .. } => [then, otherwise].into_iter().all(|body| reads_own(body, row, turn)),
        _ => !mentions(stmt, row),
    })
}
