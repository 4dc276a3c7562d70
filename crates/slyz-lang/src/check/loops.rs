//! Loops that nothing can end, and which expressions do something.

use crate::typed::{Arg, Expr, ExprKind, FunctionId, LocalId, MemoryRef, Stmt};
use std::collections::HashSet;

/// Why a loop never ends once it runs, if that is certain.
pub(super) fn never_ends(
    cond: &Expr,
    body: &[Stmt],
    (breaks, forever): (bool, bool),
    is_written: &dyn Fn(MemoryRef) -> bool,
) -> Option<String> {
    if breaks || any_stmt(body, &mut |s| matches!(s, Stmt::Return(_))) {
        return None;
    }
    if forever {
        return Some("nothing in this loop leaves it".into());
    }
    let mut locals = HashSet::new();
    let mut others_change_it = false;
    each_expr(cond, &mut |e| match &e.kind {
        ExprKind::Local(local) => drop(locals.insert(*local)),
        // Other threads may write what is read here, and calls and atomics may give another value each time.
        ExprKind::Load(memory, _) => others_change_it |= is_written(*memory),
        ExprKind::Atomic { .. } | ExprKind::Call(..) | ExprKind::Subgroup(..) => others_change_it = true,
        _ => {}
    });
    if others_change_it || any_stmt(body, &mut |s| sets(s, &locals)) {
        return None;
    }
    // A condition of constants that never holds is no loop at all.
    (!matches!(cond.kind, ExprKind::Const(_)))
        .then(|| "nothing in this loop changes its condition, so it runs never or forever".into())
}

fn sets(stmt: &Stmt, locals: &HashSet<LocalId>) -> bool {
    match stmt {
        Stmt::Set(local, _) => locals.contains(local),
        Stmt::For { counter, .. } => locals.contains(counter),
        _ => false,
    }
}

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
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Place(..) | ExprKind::Extent(..) => {}
            ExprKind::Apply(_, args) | ExprKind::Load(_, args) | ExprKind::Subgroup(_, args) => open.extend(args),
            ExprKind::Atomic { index, args, .. } => open.extend(index.iter().chain(args)),
            ExprKind::AndThen(x, y) | ExprKind::OrElse(x, y) => open.extend([&**x, &**y]),
            ExprKind::Cast(x) | ExprKind::Bitcast(x) => open.push(x),
            ExprKind::Call(_, args) => open.extend(args.iter().filter_map(|a| match a {
                Arg::Value(value) => Some(value),
                Arg::Memory(_) => None,
            })),
            ExprKind::If { cond, then, otherwise } => open.extend([&**cond, &*then.1, &*otherwise.1]),
        }
    }
}

/// Does it do more than give a value, so that doing it twice is something else?
pub(super) fn has_effect(expr: &Expr) -> bool {
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
