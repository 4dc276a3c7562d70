//! Writing code for a block: statements one after the other, bodies inside each other.

use crate::code::{Body, Id, Op, Place, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::types::Ty;
use crate::write::Write;
use std::collections::HashMap;

/// The code being written.
pub(super) struct WeaveWriter {
    fresh: Box<dyn FnMut() -> Id>,
    /// The body being written.
    pub(super) out: Vec<Stmt>,
    /// What names without bodies stand for, of the kernel as it was and of what is written; names are unique.
    pub(super) known: HashMap<Id, Op>,
    /// The types of all names.
    pub(super) types: HashMap<Id, Ty>,
}

impl Write for WeaveWriter {
    fn fresh(&mut self) -> Id {
        (self.fresh)()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        &mut self.out
    }

    fn var(&mut self, ty: Ty) -> Var {
        let id = (self.fresh)();
        self.types.insert(id, ty);
        Var { id, ty: Type::Scalar(ty) }
    }

    fn push(&mut self, op: Op, ty: Ty) -> Id {
        let known = op.clone();
        let id = self.bind(op, &[ty])[0];
        self.known.insert(id, known);
        id
    }
}

impl WeaveWriter {
    /// For the code of a kernel.
    pub(super) fn new(kernel: &Kernel) -> WeaveWriter {
        let mut writer = WeaveWriter {
            fresh: Box::new(kernel.fresh_ids()),
            out: vec![],
            known: HashMap::new(),
            types: HashMap::new(),
        };
        writer.note(&kernel.body);
        writer
    }

    /// Learns what names stand for.
    pub(super) fn note(&mut self, body: &Body) {
        self.types.extend(body.params.iter().map(|p| (p.id, p.ty.elem())));
        body.stmts.iter().for_each(|stmt| self.note_one(stmt));
    }

    /// The same for one statement.
    pub(super) fn note_one(&mut self, stmt: &Stmt) {
        self.types.extend(stmt.binds.iter().map(|b| (b.id, b.ty.elem())));
        let inner = stmt.op.bodies();
        if let ([bind], true) = (&stmt.binds[..], inner.is_empty()) {
            self.known.insert(bind.id, stmt.op.clone());
        }
        inner.into_iter().for_each(|b| self.note(b));
    }

    /// The counter of a loop over small numbers.
    pub(super) fn counter(&mut self) -> Var {
        let counter = self.var(Ty::I64);
        // It is as large as the number of a block.
        self.known.insert(counter.id, Op::Place(Place::Block, 1));
        counter
    }

    /// A loop by ones without state.
    pub(super) fn each(&mut self, lo: Id, hi: Id, write: impl FnOnce(&mut Self, Id)) {
        let step = self.number(1);
        let counter = self.counter();
        let around = self.begin();
        write(self, counter.id);
        let stmts = self.end(around);
        let body = Body { params: vec![counter], stmts, results: vec![] };
        self.act(Op::For { lo, hi, step, init: vec![], body });
    }
}
