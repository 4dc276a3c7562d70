//! Loops that nothing can end.

use crate::typed::inside::{any_stmt, each_expr};
use crate::typed::{Expr, ExprKind, LocalId, MemoryRef, Stmt};
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
