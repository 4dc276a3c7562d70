//! Which locals are set, and which are still to be read.
//!
//! The values that a branch gives and a loop carries are exactly those that somebody reads later. Code here has
//! neither statements in expressions nor early exits any more, so one walk from the end is enough; loops need no second turn,
//! since what a body reads before it sets it is the same in every turn.

use super::walk;
use crate::typed::{Expr, ExprKind, LocalId, Stmt, inside};

/// A set of locals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Locals {
    words: Vec<u64>,
}

impl Locals {
    pub(super) fn insert(&mut self, LocalId(id): LocalId) {
        let word = id as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (id % 64);
    }

    pub(super) fn remove(&mut self, LocalId(id): LocalId) {
        if let Some(word) = self.words.get_mut(id as usize / 64) {
            *word &= !(1 << (id % 64));
        }
    }

    pub(super) fn add(&mut self, other: &Locals) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    /// What is in both, in order.
    pub(super) fn common(&self, other: &Locals) -> Vec<LocalId> {
        let words = self.words.iter().zip(&other.words).zip(0u32..);
        let bits = |((a, b), at): ((&u64, &u64), u32)| {
            let both = a & b;
            (0..64).filter(move |bit| both >> bit & 1 == 1).map(move |bit| LocalId(at * 64 + bit))
        };
        words.flat_map(bits).collect()
    }
}

/// The locals that statements may set, loop counters aside.
pub(super) fn sets(stmts: &[Stmt], into: &mut Locals) {
    for stmt in stmts {
        if let Stmt::Set(local, _) = stmt {
            into.insert(*local);
        }
        walk::lists(stmt).into_iter().for_each(|list| sets(list, into));
    }
}

fn reads(expr: &Expr, into: &mut Locals) {
    if let ExprKind::Local(local) = expr.kind {
        into.insert(local);
    }
    inside::parts(expr).into_iter().for_each(|part| reads(part, into));
}

/// The locals that are read from here on, before a statement that is followed by code that reads `after`.
pub(super) fn before(stmt: &Stmt, mut after: Locals) -> Locals {
    match stmt {
        Stmt::Set(local, _) => after.remove(*local),
        Stmt::If { then, otherwise, .. } => {
            let other = before_all(otherwise, after.clone());
            after = before_all(then, after);
            after.add(&other);
        }
        Stmt::For { .. } | Stmt::While { .. } => after = around(stmt, after),
        Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Expr(_) | Stmt::Return(_) => {}
        Stmt::Break | Stmt::Continue | Stmt::Barrier(_) | Stmt::Fence(_) => {}
    }
    walk::expressions(stmt).into_iter().for_each(|expr| reads(expr, &mut after));
    after
}

fn before_all(stmts: &[Stmt], after: Locals) -> Locals {
    stmts.iter().rev().fold(after, |after, stmt| before(stmt, after))
}

/// The locals that are read after a turn of a loop: in the next one, or after the loop.
pub(super) fn around(stmt: &Stmt, mut after: Locals) -> Locals {
    match stmt {
        Stmt::For { counter, body, .. } => {
            let mut turn = before_all(body, Locals::default());
            turn.remove(*counter);
            after.add(&turn);
        }
        Stmt::While { cond, body } => {
            after.add(&before_all(body, Locals::default()));
            reads(cond, &mut after);
        }
        _ => {}
    }
    after
}

/// For each branch and loop, the locals that are read after it; nothing for other statements, where nobody asks.
pub(super) fn after_each(stmts: &[Stmt], after: &Locals) -> Vec<Locals> {
    let mut lists = vec![Locals::default(); stmts.len()];
    let Some(first) = stmts.iter().position(asks) else { return lists };
    let mut here = after.clone();
    for k in (first..stmts.len()).rev() {
        if asks(&stmts[k]) {
            lists[k] = here.clone();
        }
        here = before(&stmts[k], here);
    }
    lists
}

fn asks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => true,
        Stmt::Set(..) | Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Expr(_) | Stmt::Return(_) => false,
        Stmt::Break | Stmt::Continue | Stmt::Barrier(_) | Stmt::Fence(_) => false,
    }
}
