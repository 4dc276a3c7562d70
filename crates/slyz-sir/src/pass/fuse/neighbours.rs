//! Neighbours of one shape share one loop: tabulates, or folds, that do not depend on each other.

use super::LONGEST;
use super::cost::weight;
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::size::Size;
use std::collections::HashMap;

/// The most results of a loop that is shared. Each is an array, or part of one, that the kernel writes.
const MOST_RESULTS: usize = 32;

/// Lets neighbours share, everywhere in the program.
pub(super) fn share(body: &mut Body) {
    for stmt in &mut body.stmts {
        stmt.op.bodies_mut().into_iter().for_each(share);
    }
    // The last loop of each kind that nobody has used yet, and which loop of the list gave a name.
    let mut last: HashMap<Kind, usize> = HashMap::new();
    let mut givers: HashMap<Id, usize> = HashMap::new();
    let mut stmts: Vec<Option<Loop>> = Vec::with_capacity(body.stmts.len());
    for stmt in std::mem::take(&mut body.stmts) {
        each_use(&stmt, &mut |id| {
            if let Some(&giver) = givers.get(&id)
                && let Some(used) = &mut stmts[giver]
            {
                used.is_used = true;
            }
        });
        let mut here = Loop { weight: 0, is_used: false, stmt };
        if let Some(kind) = Kind::of(&here.stmt) {
            here.weight = weight(&here.stmt.op);
            // Everything that this one needs stands before it, and nothing between reads the first: it moves down.
            let first = last.get(&kind).and_then(|&at| stmts[at].take_if(|first| first.takes(&here)));
            here = match first {
                Some(first) => first.merged(here),
                None => here,
            };
            givers.extend(here.stmt.binds.iter().map(|b| (b.id, stmts.len())));
            last.insert(kind, stmts.len());
        }
        stmts.push(Some(here));
    }
    body.stmts = stmts.into_iter().flatten().map(|it| it.stmt).collect();
}

/// Loops of one kind can be one.
#[derive(PartialEq, Eq, Hash)]
enum Kind {
    Tabulate(Vec<Size>),
    Fold { shape: Vec<Size>, commutative: bool },
}

impl Kind {
    fn of(stmt: &Stmt) -> Option<Kind> {
        match &stmt.op {
            Op::Tabulate { shape, body } => {
                let scalars = stmt.binds.iter().all(|v| v.ty.shape().len() == shape.len());
                (scalars && is_plain(body)).then(|| Kind::Tabulate(shape.clone()))
            }
            Op::Fold { shape, body, monoid } => {
                is_plain(body).then(|| Kind::Fold { shape: shape.clone(), commutative: monoid.commutative })
            }
            _ => None,
        }
    }
}

/// Elements that are computed without loops: joining such loops only saves work.
fn is_plain(body: &Body) -> bool {
    body.stmts.iter().all(|s| match &s.op {
        Op::If { then, otherwise, .. } => is_plain(then) && is_plain(otherwise),
        Op::Const(_)
        | Op::Extent(_)
        | Op::Apply(..)
        | Op::Cast(..)
        | Op::Bitcast(..)
        | Op::Call(..)
        | Op::At { .. } => true,
        _ => false,
    })
}

/// A statement that may be a loop.
struct Loop {
    weight: u64,
    /// Something behind it uses what it gives.
    is_used: bool,
    stmt: Stmt,
}

impl Loop {
    /// May the other one, of the same kind and behind it, be joined with it?
    fn takes(&self, other: &Loop) -> bool {
        let results = self.stmt.binds.len() + other.stmt.binds.len();
        !self.is_used && self.weight + other.weight <= LONGEST && results <= MOST_RESULTS
    }

    /// Both in one.
    fn merged(mut self, other: Loop) -> Loop {
        match (&mut self.stmt.op, other.stmt.op) {
            (Op::Tabulate { body, .. }, Op::Tabulate { body: other, .. }) => append(body, other),
            (Op::Fold { body, monoid, .. }, Op::Fold { body: other, monoid: second, .. }) => {
                append(body, other);
                *monoid = join_monoids(monoid, &second);
            }
            _ => unreachable!("only loops of one kind are merged"),
        }
        self.stmt.binds.extend(other.stmt.binds);
        Loop { weight: self.weight + other.weight, ..self }
    }
}

fn each_use(stmt: &Stmt, f: &mut dyn FnMut(Id)) {
    stmt.op.each_operand(f);
    stmt.op.bodies().iter().for_each(|b| b.each_free(f));
}

/// Runs `other` after `body`, at the same position.
fn append(body: &mut Body, mut other: Body) {
    let at: HashMap<Id, Id> = other.params.iter().zip(&body.params).map(|(own, at)| (own.id, at.id)).collect();
    other.each_use_mut(&mut |id| *id = *at.get(id).unwrap_or(id));
    body.stmts.extend(other.stmts);
    body.results.extend(other.results);
}

/// The product of two monoids.
fn join_monoids(a: &Monoid, b: &Monoid) -> Monoid {
    let k = a.neutral.len();
    let n = b.neutral.len();
    let (x, y) = (&a.combine, &b.combine);
    let combine = Body {
        params: [&x.params[..k], &y.params[..n], &x.params[k..], &y.params[n..]].concat(),
        stmts: [&x.stmts[..], &y.stmts[..]].concat(),
        results: [&x.results[..], &y.results[..]].concat(),
    };
    let neutral = [&a.neutral[..], &b.neutral[..]].concat();
    Monoid { neutral, combine, commutative: a.commutative && b.commutative }
}
