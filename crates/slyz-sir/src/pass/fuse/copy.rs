//! Copies cheap tabulates to all places that read them.

use super::LONGEST;
use super::cost::{body_weight, cost, weight};
use super::sites::{Sites, has_loops};
use crate::code::{Body, Id, Op, Stmt};
use std::collections::HashMap;

/// A program does not grow by more than this many additions, or its own length where that is more.
const MOST: u64 = 50_000;
/// What is no longer than this goes into a kernel of any length.
const SHORT: u64 = 16;

/// Copies what is worth it, everywhere in the program.
pub(super) fn run(body: &mut Body, fresh: &mut dyn FnMut() -> Id) {
    let room = body_weight(body).max(MOST);
    let copier =
        Copier { fresh, sites: Sites::of(body), producers: HashMap::new(), names: HashMap::new(), room, length: 0 };
    copier.program(body);
}

/// A tabulate whose elements are computed where they are read.
struct Producer {
    rank: usize,
    /// What the one result needs.
    body: Body,
    weight: u64,
}

struct Copier<'a> {
    fresh: &'a mut dyn FnMut() -> Id,
    sites: Sites,
    producers: HashMap<Id, Producer>,
    /// Names that are replaced, and by what.
    names: HashMap<Id, Id>,
    /// How much may still be copied.
    room: u64,
    /// How long the statement of the program is that is being rewritten.
    length: u64,
}

impl Copier<'_> {
    fn program(mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for stmt in std::mem::take(&mut body.stmts) {
            self.length = weight(&stmt.op);
            self.stmt(stmt, &mut stmts);
        }
        self.end(body, stmts);
    }

    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for stmt in std::mem::take(&mut body.stmts) {
            self.stmt(stmt, &mut stmts);
        }
        self.end(body, stmts);
    }

    fn end(&self, body: &mut Body, stmts: Vec<Stmt>) {
        body.stmts = stmts;
        body.results.iter_mut().for_each(|id| *id = *self.names.get(id).unwrap_or(id));
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        stmt.op.each_operand_mut(&mut |id| *id = *self.names.get(id).unwrap_or(id));
        for inner in stmt.op.bodies_mut() {
            self.body(inner);
        }
        if let Op::At { array, index } = &stmt.op
            && let Some(producer) = self.producers.get(array)
            && producer.rank == index.len()
            && producer.weight <= self.room
            && (producer.weight <= SHORT || producer.weight + self.length <= LONGEST)
        {
            let code = producer.body.instantiate(index, self.fresh);
            self.length += producer.weight;
            self.room -= producer.weight;
            out.extend(code.stmts);
            self.names.insert(stmt.binds[0].id, code.results[0]);
            return;
        }
        self.note(&stmt);
        out.push(stmt);
    }

    /// Decides what becomes of a tabulate's reads.
    fn note(&mut self, stmt: &Stmt) {
        let Op::Tabulate { shape, body } = &stmt.op else { return };
        if stmt.binds.iter().any(|b| b.ty.shape().len() != shape.len()) {
            return;
        }
        for (bind, &result) in stmt.binds.iter().zip(&body.results) {
            if self.sites.reads(bind.id).is_empty() {
                continue;
            }
            // Only what this result needs is copied, and only that is paid for.
            let slice = super::super::dce::root(Body { results: vec![result], ..body.clone() });
            let site = self.sites.site(bind.id);
            let apart = site.in_segments && has_loops(&slice);
            if !apart && site.is_cheaper_inline(cost(&slice)) {
                let weight = body_weight(&slice);
                self.producers.insert(bind.id, Producer { rank: shape.len(), body: slice, weight });
            }
        }
    }
}
