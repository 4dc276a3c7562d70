//! How many of the first elements of sorted lines anybody reads: the others need not be put in order.
//!
//! ```text
//! %order = sort [N] by [32] |%i| { … yield %key, %i }
//! %best = tabulate [10] |%k| { … at %order[%k] … }        // ten of them
//! ```
//!
//! What it does not do: look into what computes a position, other than a counter of a short axis or a number.

use crate::code::{Body, Id, Op, Stmt, Var};
use crate::program::Program;
use crate::size::Size;
use std::collections::HashMap;

/// Of each array that a sort gives: how many of the first elements of a line are read. All of them, where it is not known.
#[derive(Default)]
pub(super) struct Leading(HashMap<Id, u64>);

impl Leading {
    /// The sorts of a program.
    pub(super) fn of(program: &Program) -> Leading {
        let mut finder = Finder::default();
        program
            .functions
            .iter()
            .map(|function| &function.body)
            .chain([&program.body])
            .for_each(|body| finder.body(body));
        Leading(finder.read)
    }

    /// How many elements of a line have to be in order, of what a sort gives.
    pub(super) fn of_sort(&self, binds: &[Var]) -> Option<u64> {
        let most = binds.iter().map(|bind| self.0.get(&bind.id).copied().unwrap_or(u64::MAX)).max()?;
        (most < u64::MAX).then_some(most)
    }
}

#[derive(Default)]
struct Finder {
    /// What positions and numbers are below.
    below: HashMap<Id, u64>,
    read: HashMap<Id, u64>,
}

impl Finder {
    fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            self.stmt(stmt);
        }
        body.results.iter().for_each(|&id| self.reads(id, u64::MAX));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::At { array, index } => {
                let end = index.last().and_then(|last| self.below.get(last)).copied();
                self.reads(*array, end.unwrap_or(u64::MAX));
            }
            op => op.each_operand(&mut |id| self.reads(id, u64::MAX)),
        }
        match &stmt.op {
            Op::Const(value) if !value.ty.is_float() => {
                let end = u64::try_from(value.as_int()).ok().and_then(|number| number.checked_add(1));
                self.below.extend(stmt.binds.iter().zip(end).map(|(bind, end)| (bind.id, end)));
            }
            Op::Sort { .. } => self.read.extend(stmt.binds.iter().map(|bind| (bind.id, 0))),
            Op::Tabulate { shape, body } | Op::Fold { shape, body, .. } | Op::Scan { shape, body, .. } => {
                let ends = shape.iter().map(Size::constant);
                let known = body.params.iter().zip(ends).filter_map(|(param, end)| Some((param.id, end?)));
                self.below.extend(known);
            }
            _ => {}
        }
        stmt.op.bodies().into_iter().for_each(|body| self.body(body));
    }

    fn reads(&mut self, array: Id, end: u64) {
        if let Some(most) = self.read.get_mut(&array) {
            *most = (*most).max(end);
        }
    }
}
