//! Walks over the typed tree: statements, expressions and calls inside others, and which expressions do something.

use super::{Arg, Expr, ExprKind, FunctionId, Stmt};

/// Is there such a statement among these, or inside them?
pub(crate) fn any_stmt(stmts: &[Stmt], is: &mut dyn FnMut(&Stmt) -> bool) -> bool {
    for stmt in stmts {
        let inside = is(stmt)
            || match stmt {
                Stmt::If { then, otherwise, .. } => any_stmt(then, is) || any_stmt(otherwise, is),
                Stmt::For { body, .. } | Stmt::While { body, .. } => any_stmt(body, is),
                Stmt::Set(..)
                | Stmt::Store { .. }
                | Stmt::Fill(..)
                | Stmt::Expr(_)
                | Stmt::Break
                | Stmt::Continue
                | Stmt::Return(_)
                | Stmt::Barrier(_)
                | Stmt::Fence(_) => false,
            };
        if inside || exprs_of(stmt).into_iter().any(|e| in_branches(e, is)) {
            return true;
        }
    }
    false
}

/// The statements in front of the values of an `if` count as well.
fn in_branches(expr: &Expr, is: &mut dyn FnMut(&Stmt) -> bool) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| {
        if let ExprKind::If { then, otherwise, .. } = &e.kind {
            found = found || any_stmt(&then.0, is) || any_stmt(&otherwise.0, is);
        }
    });
    found
}

/// The expressions that a statement has itself.
pub(crate) fn exprs_of(stmt: &Stmt) -> Vec<&Expr> {
    match stmt {
        Stmt::Set(_, e) | Stmt::Fill(_, e) | Stmt::Expr(e) | Stmt::Return(Some(e)) => vec![e],
        Stmt::If { cond, .. } | Stmt::While { cond, .. } => vec![cond],
        Stmt::Store { index, value, .. } => index.iter().chain([value]).collect(),
        Stmt::For { lo, hi, step, .. } => vec![lo, hi, step],
        Stmt::Return(None) | Stmt::Break | Stmt::Continue | Stmt::Barrier(_) | Stmt::Fence(_) => vec![],
    }
}

/// An expression and those inside it; statements in front of values are left out.
pub(crate) fn each_expr<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        f(expr);
        open.extend(parts(expr));
    }
}

/// The expressions right inside an expression, first evaluated first. Not those of statements inside it.
pub(crate) fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Place(..) | ExprKind::Extent(..) => vec![],
        ExprKind::Apply(_, args) | ExprKind::Load(_, args) | ExprKind::Subgroup(_, args) => args.iter().collect(),
        ExprKind::AndThen(a, b) | ExprKind::OrElse(a, b) => vec![a, b],
        ExprKind::Cast(arg) | ExprKind::Bitcast(arg) => vec![arg],
        ExprKind::Atomic { index, args, .. } => index.iter().chain(args).collect(),
        ExprKind::Call(_, args) => args.iter().filter_map(argument).collect(),
        ExprKind::If { cond, then, otherwise } => vec![cond, &then.1, &otherwise.1],
    }
}

fn argument(arg: &Arg) -> Option<&Expr> {
    match arg {
        Arg::Value(expr) => Some(expr),
        Arg::Memory(_) => None,
    }
}

/// Does it do more than give a value, so that doing it twice is something else?
pub(crate) fn has_effect(expr: &Expr) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| {
        found |= match &e.kind {
            ExprKind::Atomic { .. } | ExprKind::Subgroup(..) | ExprKind::Call(..) => true,
            ExprKind::If { then, otherwise, .. } => !then.0.is_empty() || !otherwise.0.is_empty(),
            _ => false,
        }
    });
    found
}

/// Every function that is called among the statements.
pub(crate) fn each_call(stmts: &[Stmt], f: &mut dyn FnMut(FunctionId)) {
    any_stmt(stmts, &mut |stmt| {
        for expr in exprs_of(stmt) {
            each_expr(expr, &mut |e| {
                if let ExprKind::Call(id, _) = &e.kind {
                    f(*id);
                }
            });
        }
        false
    });
}
