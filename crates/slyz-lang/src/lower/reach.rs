//! What a kernel reaches: the functions it calls, and which of them touch threads or memory.
//!
//! Those become part of the kernel's body. The others compute with numbers only, and stay functions.

use super::exits::{Structured, structured};
use super::{Excess, TooLarge, walk};
use crate::typed::{Expr, ExprKind, FunctionId, ParamKind, Program, Stmt};
use slyz_sir::nesting::MAX_NESTING;
use std::collections::BTreeMap;

/// A function that is reached.
#[derive(Debug)]
pub(super) struct Reached {
    /// Its code.
    pub(super) code: Structured,
    /// Is it more than a function of numbers?
    pub(super) touches: bool,
}

/// Everything that is reached from a function, itself included. Functions call only functions before them.
pub(super) fn reached(program: &Program, root: FunctionId) -> Result<BTreeMap<FunctionId, Reached>, TooLarge> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root];
    while let Some(id) = waiting.pop() {
        let Some(function) = program.functions.get(id.0 as usize).filter(|_| !found.contains_key(&id)) else {
            continue;
        };
        if walk::nests_past(&function.body, MAX_NESTING) {
            return Err(TooLarge { function: function.name.clone(), what: Excess::Nesting });
        }
        let code = structured(function);
        each_expr(&code.body, &mut |expr| {
            if let ExprKind::Call(callee, _) = expr.kind {
                waiting.push(callee);
            }
        });
        let tensors = function.params.iter().any(|param| matches!(param.kind, ParamKind::Tensor { .. }));
        let touches = tensors || !function.arrays.is_empty() || function.result.is_none() || touches_itself(&code.body);
        found.insert(id, Reached { code, touches });
    }
    let ids: Vec<FunctionId> = found.keys().copied().collect();
    for id in ids {
        let mut calls = false;
        each_expr(&found[&id].code.body, &mut |expr| {
            if let ExprKind::Call(callee, _) = expr.kind {
                calls |= found.get(&callee).is_some_and(|callee| callee.touches);
            }
        });
        if let Some(function) = found.get_mut(&id) {
            function.touches |= calls;
        }
    }
    Ok(found)
}

fn touches_itself(stmts: &[Stmt]) -> bool {
    let mut touches = false;
    each_expr(stmts, &mut |expr| {
        touches |= match expr.kind {
            ExprKind::Place(..) | ExprKind::Extent(..) => true,
            ExprKind::Load(..) | ExprKind::Atomic { .. } | ExprKind::Subgroup(..) => true,
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Apply(..) | ExprKind::Call(..) => false,
            ExprKind::AndThen(..) | ExprKind::OrElse(..) | ExprKind::If { .. } => false,
            ExprKind::Cast(_) | ExprKind::Bitcast(_) => false,
        }
    });
    touches || stmts.iter().any(acts)
}

fn acts(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Barrier(_) | Stmt::Fence(_) => true,
        Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => walk::lists(stmt).into_iter().flatten().any(acts),
        Stmt::Set(..) | Stmt::Expr(_) | Stmt::Break | Stmt::Continue | Stmt::Return(_) => false,
    }
}

fn each_expr(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    fn within(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
        f(expr);
        walk::parts(expr).into_iter().for_each(|part| within(part, f));
    }
    for stmt in stmts {
        walk::expressions(stmt).into_iter().for_each(|expr| within(expr, f));
        walk::lists(stmt).into_iter().for_each(|list| each_expr(list, f));
    }
}
