//! `flatten`: takes statements out of expressions.
//!
//! ```text
//! x = f(a, if c { a = 2; b } else { d })        t = a
//!                                          →    if c { a = 2; u = b } else { u = d }
//!                                               x = f(t, u)
//! ```
//!
//! What is evaluated before such a branch keeps its value in a local of its own; names cost nothing, since every
//! name of the kernel is assigned once anyway. A condition with statements becomes the first part of its loop's body (so an exit
//! in it is one of that loop). Branches without statements stay where they are. Afterwards statements
//! stand in statements only, so that early exits and assignments need not be looked for in expressions.

use super::walk;
use crate::typed::{Expr, ExprKind, LocalId, Stmt, inside};
use slyz_sir::types::{Scalar, Ty};

/// The same statements; new locals are added to `locals`.
pub(super) fn flatten(stmts: &[Stmt], locals: &mut Vec<Ty>) -> Vec<Stmt> {
    Flatten { locals }.stmts(stmts)
}

struct Flatten<'l> {
    locals: &'l mut Vec<Ty>,
}

/// Is there a statement somewhere in it?
fn holds_statements(expr: &Expr) -> bool {
    let here = match &expr.kind {
        ExprKind::If { then, otherwise, .. } => !then.0.is_empty() || !otherwise.0.is_empty(),
        _ => false,
    };
    here || inside::parts(expr).into_iter().any(holds_statements)
}

impl Flatten<'_> {
    fn stmts(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        stmts.iter().for_each(|stmt| self.stmt(stmt, &mut out));
        out
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let flat = match stmt {
            Stmt::Set(target, value) => return self.assign(*target, value, out),
            Stmt::Store { memory, index, value, span } => {
                let mut all = self.exprs(index.iter().chain([value]).cloned().collect(), out);
                let value = all.pop().unwrap_or_else(|| value.clone());
                Stmt::Store { memory: *memory, index: all, value, span: *span }
            }
            Stmt::Fill(array, value) => Stmt::Fill(*array, self.expr(value, out)),
            Stmt::Expr(value) => Stmt::Expr(self.expr(value, out)),
            Stmt::Return(value) => Stmt::Return(value.as_ref().map(|value| self.expr(value, out))),
            Stmt::If { cond, then, otherwise } => {
                let cond = self.expr(cond, out);
                Stmt::If { cond, then: self.stmts(then), otherwise: self.stmts(otherwise) }
            }
            Stmt::For { counter, lo, hi, step, body } => {
                let bounds = self.exprs(vec![lo.clone(), hi.clone(), step.clone()], out);
                let [lo, hi, step] = <[Expr; 3]>::try_from(bounds).expect("as many as were passed");
                Stmt::For { counter: *counter, lo, hi, step, body: self.stmts(body) }
            }
            Stmt::While { cond, body } if holds_statements(cond) => {
                let leave = Stmt::If { cond: cond.clone(), then: vec![], otherwise: vec![Stmt::Break] };
                let mut turn = self.stmts(&[leave]);
                turn.extend(self.stmts(body));
                Stmt::While { cond: walk::constant(Scalar::bool(true)), body: turn }
            }
            Stmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: self.stmts(body) },
            Stmt::Break | Stmt::Continue | Stmt::Barrier(_) | Stmt::Fence(_) => stmt.clone(),
        };
        out.push(flat);
    }

    fn fresh(&mut self, ty: Ty) -> LocalId {
        self.locals.push(ty);
        LocalId(self.locals.len() as u32 - 1)
    }

    /// `target = value`.
    fn assign(&mut self, target: LocalId, value: &Expr, out: &mut Vec<Stmt>) {
        let known = |truth| Box::new(walk::constant(Scalar::bool(truth)));
        let (cond, then, otherwise) = match &value.kind {
            ExprKind::If { cond, then, otherwise } if holds_statements(value) => {
                (cond, then.clone(), otherwise.clone())
            }
            ExprKind::AndThen(a, b) if holds_statements(b) => (a, (vec![], b.clone()), (vec![], known(false))),
            ExprKind::OrElse(a, b) if holds_statements(b) => (a, (vec![], known(true)), (vec![], b.clone())),
            _ => {
                let value = self.expr(value, out);
                return out.push(Stmt::Set(target, value));
            }
        };
        let cond = self.expr(cond, out);
        let mut side = |(mut stmts, value): (Vec<Stmt>, Box<Expr>)| {
            stmts.push(Stmt::Set(target, *value));
            self.stmts(&stmts)
        };
        let then = side(then);
        let otherwise = side(otherwise);
        out.push(Stmt::If { cond, then, otherwise });
    }

    /// The expression without statements; they go to `out`.
    fn expr(&mut self, expr: &Expr, out: &mut Vec<Stmt>) -> Expr {
        if !holds_statements(expr) {
            return expr.clone();
        }
        let lazy = match &expr.kind {
            ExprKind::If { .. } => true,
            ExprKind::AndThen(_, b) | ExprKind::OrElse(_, b) => holds_statements(b),
            _ => false,
        };
        if lazy {
            let target = self.fresh(expr.ty);
            self.assign(target, expr, out);
            return walk::local(target, expr.ty);
        }
        let mut flat = expr.clone();
        let parts = self.exprs(inside::parts(expr).into_iter().cloned().collect(), out);
        walk::parts_mut(&mut flat).into_iter().zip(parts).for_each(|(place, part)| *place = part);
        flat
    }

    /// Expressions that are evaluated one after the other.
    fn exprs(&mut self, mut exprs: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let Some(last) = exprs.iter().rposition(holds_statements) else { return exprs };
        for expr in &mut exprs[..last] {
            if !matches!(expr.kind, ExprKind::Const(_)) {
                let target = self.fresh(expr.ty);
                self.assign(target, expr, out);
                *expr = walk::local(target, expr.ty);
            }
        }
        exprs[last] = self.expr(&exprs[last], out);
        exprs
    }
}
