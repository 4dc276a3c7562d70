//! Typed trees, walked: the parts of expressions in the order of their evaluation, and expressions made by hand.

use crate::span::Span;
use crate::typed::{Arg, Expr, ExprKind, LocalId, Stmt, inside};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

/// The expressions right inside an expression, first evaluated first, to change.
pub(super) fn parts_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.kind {
        ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Place(..) | ExprKind::Extent(..) => vec![],
        ExprKind::Apply(_, args) | ExprKind::Load(_, args) | ExprKind::Subgroup(_, args) => args.iter_mut().collect(),
        ExprKind::AndThen(a, b) | ExprKind::OrElse(a, b) => vec![a, b],
        ExprKind::Cast(arg) | ExprKind::Bitcast(arg) => vec![arg],
        ExprKind::Atomic { index, args, .. } => index.iter_mut().chain(args).collect(),
        ExprKind::Call(_, args) => args
            .iter_mut()
            .filter_map(|arg| match arg {
                Arg::Value(expr) => Some(expr),
                Arg::Memory(_) => None,
            })
            .collect(),
        ExprKind::If { cond, then, otherwise } => vec![cond, &mut then.1, &mut otherwise.1],
    }
}

/// The expressions right inside a statement, first evaluated first. Not those of statements inside it.
pub(super) fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match stmt {
        Stmt::Set(_, value) | Stmt::Fill(_, value) | Stmt::Expr(value) | Stmt::Return(Some(value)) => vec![value],
        Stmt::Store { index, value, .. } => index.iter().chain([value]).collect(),
        Stmt::If { cond, .. } | Stmt::While { cond, .. } => vec![cond],
        Stmt::For { lo, hi, step, .. } => vec![lo, hi, step],
        Stmt::Break | Stmt::Continue | Stmt::Return(None) | Stmt::Barrier(_) | Stmt::Fence(_) => vec![],
    }
}

/// The lists of statements right inside a statement.
pub(super) fn lists(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::If { then, otherwise, .. } => vec![then, otherwise],
        Stmt::For { body, .. } | Stmt::While { body, .. } => vec![body],
        Stmt::Set(..)
        | Stmt::Store { .. }
        | Stmt::Fill(..)
        | Stmt::Expr(_)
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Return(_)
        | Stmt::Barrier(_)
        | Stmt::Fence(_) => vec![],
    }
}

fn made(ty: Ty, kind: ExprKind) -> Expr {
    Expr { ty, kind, span: Span::default() }
}

/// A constant.
pub(super) fn constant(value: Scalar) -> Expr {
    made(value.ty, ExprKind::Const(value))
}

/// The value of a local.
pub(super) fn local(id: LocalId, ty: Ty) -> Expr {
    made(ty, ExprKind::Local(id))
}

/// An operator on operands that it is defined on, giving `ty`.
pub(super) fn apply(operator: Operator, ty: Ty, args: Vec<Expr>) -> Expr {
    made(ty, ExprKind::Apply(operator, args))
}

/// Both hold; the second is looked at only if the first does.
pub(super) fn and_then(a: Expr, b: Expr) -> Expr {
    if is_true(&b) { a } else { made(Ty::Bool, ExprKind::AndThen(a.into(), b.into())) }
}

/// Is it the constant `true`?
pub(super) fn is_true(expr: &Expr) -> bool {
    expr.kind == ExprKind::Const(Scalar::bool(true))
}

/// Do more bodies stand inside each other than `most`? Looks no deeper than that.
pub(super) fn nests_past(stmts: &[Stmt], most: usize) -> bool {
    let Some(inner) = most.checked_sub(1) else { return true };
    for stmt in stmts {
        if expressions(stmt).into_iter().any(|expr| expr_nests_past(expr, inner)) {
            return true;
        }
        if lists(stmt).into_iter().any(|list| nests_past(list, inner)) {
            return true;
        }
    }
    false
}

fn expr_nests_past(expr: &Expr, most: usize) -> bool {
    let inner = match &expr.kind {
        ExprKind::If { then, otherwise, .. } => {
            if nests_past(&then.0, most) || nests_past(&otherwise.0, most) {
                return true;
            }
            most.saturating_sub(1)
        }
        _ => most,
    };
    inner == 0 || inside::parts(expr).into_iter().any(|part| expr_nests_past(part, inner))
}
