//! What a kernel reaches: the functions it calls, and which of them touch threads or memory.
//!
//! Those become part of the kernel's body. The others compute with numbers only, and stay functions.

use super::exits::{Structured, structured};
use super::{Excess, TooLarge, walk};
use crate::typed::{ExprKind, Function, FunctionId, ParamKind, Program, Stmt, inside};
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
        inside::each_call(&function.body, &mut |callee| waiting.push(callee));
        found.insert(id, Reached { code, touches: false });
    }
    let ids: Vec<FunctionId> = found.keys().copied().collect();
    for id in ids {
        let touched = |callee: FunctionId| found.get(&callee).is_some_and(|callee| callee.touches);
        let touches = touches_memory(&program.functions[id.0 as usize], &touched);
        if let Some(function) = found.get_mut(&id) {
            function.touches = touches;
        }
    }
    Ok(found)
}

/// Is it more than a function of numbers? `touched` says so of those that it calls.
pub(crate) fn touches_memory(function: &Function, touched: &dyn Fn(FunctionId) -> bool) -> bool {
    let tensors = function.params.iter().any(|param| matches!(param.kind, ParamKind::Tensor { .. }));
    if tensors || !function.arrays.is_empty() || function.result.is_none() {
        return true;
    }
    let mut reads = false;
    inside::any_stmt(&function.body, &mut |stmt| {
        for expr in inside::exprs_of(stmt) {
            inside::each_expr(expr, &mut |part| {
                reads |= match part.kind {
                    ExprKind::Place(..) | ExprKind::Extent(..) => true,
                    ExprKind::Load(..) | ExprKind::Atomic { .. } | ExprKind::Subgroup(..) => true,
                    ExprKind::Call(callee, _) => touched(callee),
                    ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Apply(..) => false,
                    ExprKind::AndThen(..) | ExprKind::OrElse(..) | ExprKind::If { .. } => false,
                    ExprKind::Cast(_) | ExprKind::Bitcast(_) => false,
                }
            });
        }
        reads || acts(stmt)
    })
}

fn acts(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Barrier(_) | Stmt::Fence(_) => true,
        Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } => false,
        Stmt::Set(..) | Stmt::Expr(_) | Stmt::Break | Stmt::Continue | Stmt::Return(_) => false,
    }
}
