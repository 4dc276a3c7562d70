//! Which loops go over segments of an array: from one number that is data to another, as rows of sparse matrices are stored. All of them
//! together visit about each element once, though no loop says how long it is.
//!
//! ```text
//! tabulate [S] |s| { from = at starts[s]; to = at ends[s]; while k from `from` while k < to { … at x[k] … } }
//! ```
//!
//! This is a guess about costs, not a proof: where segments overlap, elements are computed again.

use crate::code::{Body, Id, Op, Stmt};
use crate::ops::Operator;
use std::collections::{BTreeSet, HashMap};

/// What is known of a scalar.
#[derive(Clone, Default)]
struct Origin {
    /// The position of a tabulate, or one beside it.
    beside: bool,
    /// A multiple of such a position.
    block: bool,
    /// The elements at such positions that it is computed from.
    elements: BTreeSet<(Id, Vec<Id>)>,
}

/// The scalars of the bodies that are open.
#[derive(Default)]
pub(super) struct Origins(HashMap<Id, Origin>);

impl Origins {
    /// Notes the position of a tabulate.
    pub(super) fn position(&mut self, id: Id) {
        self.0.insert(id, Origin { beside: true, ..Origin::default() });
    }

    /// Notes what a statement computes.
    pub(super) fn note(&mut self, stmt: &Stmt) {
        let [bind] = &stmt.binds[..] else { return };
        let origin = match &stmt.op {
            Op::Apply(operator, args) => self.applied(*operator, args),
            Op::Cast(_, id) => self.get(*id),
            Op::At { array, index } if index.iter().all(|id| self.get(*id).beside) => {
                Origin { elements: [(*array, index.clone())].into(), ..Origin::default() }
            }
            _ => return,
        };
        self.0.insert(bind.id, origin);
    }

    fn get(&self, id: Id) -> Origin {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    fn applied(&self, operator: Operator, args: &[Id]) -> Origin {
        let args: Vec<Origin> = args.iter().map(|id| self.get(*id)).collect();
        let elements: BTreeSet<(Id, Vec<Id>)> = args.iter().flat_map(|arg| arg.elements.clone()).collect();
        let near = args.iter().any(|arg| arg.beside) && elements.is_empty();
        let moves = matches!(operator, Operator::Add | Operator::Sub | Operator::Min | Operator::Max | Operator::Clamp);
        let block = near && matches!(operator, Operator::Mul | Operator::Shl);
        Origin { beside: near && moves, block, elements }
    }

    /// Does a `while` count through a segment?
    pub(super) fn is_segment(&self, init: &[Id], cond: &Body, body: &Body) -> bool {
        let made = |body: &'_ Body, id: Id| {
            body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id)).map(|stmt| stmt.op.clone())
        };
        let Some(Op::Apply(test, sides)) = cond.results.first().and_then(|&id| made(cond, id)) else { return false };
        let (counter, end) = match (test, &sides[..]) {
            (Operator::Lt, [counter, end]) | (Operator::Gt, [end, counter]) => (*counter, *end),
            _ => return false,
        };
        let Some(place) = cond.params.iter().position(|param| param.id == counter) else { return false };
        let Some(Op::Apply(Operator::Add, args)) = made(body, body.results[place]) else { return false };
        let from = self.get(init[place]);
        let to = self.get(end);
        // Equal elements tell a window around a place, of which neighbours share most.
        let told = !from.elements.is_empty() && !to.elements.is_empty() && from.elements != to.elements;
        args.contains(&body.params[place].id) && (from.block || told)
    }
}
