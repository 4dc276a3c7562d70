//! Writing code for a block: statements one after the other, bodies inside each other.

use crate::code::{Body, Id, Op, Place, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// The code being written.
pub(super) struct Writer {
    fresh: Box<dyn FnMut() -> Id>,
    /// The body being written.
    pub(super) out: Vec<Stmt>,
    /// What names without bodies stand for, of the kernel as it was and of what is written; names are unique.
    pub(super) known: HashMap<Id, Op>,
    /// The types of all names.
    pub(super) types: HashMap<Id, Ty>,
}

impl Writer {
    /// For the code of a kernel.
    pub(super) fn new(kernel: &Kernel) -> Writer {
        let mut writer =
            Writer { fresh: Box::new(kernel.fresh_ids()), out: vec![], known: HashMap::new(), types: HashMap::new() };
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

    pub(super) fn var(&mut self, ty: Ty) -> Var {
        let id = (self.fresh)();
        self.types.insert(id, ty);
        Var { id, ty: Type::Scalar(ty) }
    }

    pub(super) fn push(&mut self, op: Op, ty: Ty) -> Id {
        let bind = self.var(ty);
        let id = bind.id;
        self.known.insert(id, op.clone());
        self.out.push(Stmt { binds: vec![bind], op });
        id
    }

    /// A statement that gives nothing.
    pub(super) fn act(&mut self, op: Op) {
        self.out.push(Stmt { binds: vec![], op });
    }

    pub(super) fn number(&mut self, value: i64) -> Id {
        self.push(Op::Const(Scalar::i64(value)), Ty::I64)
    }

    pub(super) fn extent(&mut self, size: &Size) -> Id {
        self.push(Op::Extent(size.clone()), Ty::I64)
    }

    pub(super) fn index(&mut self, operator: Operator, a: Id, b: Id) -> Id {
        self.push(Op::Apply(operator, vec![a, b]), Ty::I64)
    }

    pub(super) fn test(&mut self, operator: Operator, a: Id, b: Id) -> Id {
        self.push(Op::Apply(operator, vec![a, b]), Ty::Bool)
    }

    /// A body with parameters of these types.
    pub(super) fn nested(&mut self, params: &[Ty], write: impl FnOnce(&mut Self, &[Id]) -> Vec<Id>) -> Body {
        let params: Vec<Var> = params.iter().map(|&ty| self.var(ty)).collect();
        let ids: Vec<Id> = params.iter().map(|p| p.id).collect();
        let outer = std::mem::take(&mut self.out);
        let results = write(self, &ids);
        let stmts = std::mem::replace(&mut self.out, outer);
        Body { params, stmts, results }
    }

    /// Statements that run where the condition holds.
    pub(super) fn when(&mut self, cond: Id, write: impl FnOnce(&mut Self)) {
        let then = self.nested(&[], |w, _| {
            write(w);
            vec![]
        });
        self.act(Op::If { cond, args: vec![], then, otherwise: Body::default() });
    }

    /// A loop by ones without state.
    pub(super) fn each(&mut self, lo: Id, hi: Id, write: impl FnOnce(&mut Self, Id)) {
        let (step, counter) = (self.number(1), self.counter());
        let outer = std::mem::take(&mut self.out);
        write(self, counter.id);
        let stmts = std::mem::replace(&mut self.out, outer);
        let body = Body { params: vec![counter], stmts, results: vec![] };
        self.act(Op::For { lo, hi, step, init: vec![], body });
    }
}
