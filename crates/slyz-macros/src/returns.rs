//! `return`s that can be values become values.
//!
//! ```text
//! if c { return a; } rest            if c { a } else { rest }
//! if c { s } else { return a; } rest if c { s; rest } else { a }
//! ..; return a;                      ..; a
//! ```
//!
//! It looks only at positions where leaving a block and leaving the function are the same thing: the end of the
//! body and, from there, the ends of the branches and arms. It never duplicates code, so of the ways through an `if`
//! at most one may go on. A `return` it leaves alone is still a `return`: fine under host control flow, and rejected
//! in `rewrite.rs` under a traced `if`.

use crate::host::{host_attribute, is_host};
use syn::{Block, Expr, ExprBlock, ExprIf, Stmt, Token, parse_quote};

/// Rewrites the body of a function or a closure.
pub fn to_values(block: &mut Block) {
    swallow_rest(block);
    let Some(Stmt::Expr(last, semi)) = block.stmts.last_mut() else { return };
    if leaves(last) {
        *semi = None;
    }
    if semi.is_none() {
        in_tail(last);
    }
}

/// Finds the first guard among the statements and moves what follows it into the branch that goes on.
fn swallow_rest(block: &mut Block) {
    let end = block.stmts.len();
    let guard = block.stmts.iter().position(|stmt| match stmt {
        Stmt::Expr(Expr::If(it), _) => leaves_block(&it.then_branch) || else_leaves(it),
        Stmt::Expr(..) | Stmt::Local(_) | Stmt::Item(_) | Stmt::Macro(_) => false,
    });
    let Some(at) = guard.filter(|at| at + 1 < end) else { return };
    let rest = block.stmts.split_off(at + 1);
    let Some(Stmt::Expr(Expr::If(it), semi)) = block.stmts.last_mut() else { return };
    *semi = None;
    // Leaving from a host `if` would be fine as it is, but not when another guard puts it in a branch.
    if leaves_block(&it.then_branch) {
        let mut before = it.else_branch.take().map(|(_, other)| *other);
        if let Some(Expr::If(next)) = &mut before {
            next.attrs.extend(host_attribute(it).map(|at| it.attrs[at].clone()));
        }
        let before = before.map(|other| Stmt::Expr(other, Some(Default::default())));
        let stmts = before.into_iter().chain(rest).collect();
        let block = Block { brace_token: it.then_branch.brace_token, stmts };
        let rest = Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block });
        it.else_branch = Some((<Token![else]>::default(), Box::new(rest)));
    } else {
        // The branch keeps a block of its own, so that its locals do not shadow what the rest sees.
        let brace_token = it.then_branch.brace_token;
        let then = std::mem::replace(&mut it.then_branch, Block { brace_token, stmts: Vec::new() });
        let then = Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block: then });
        it.then_branch.stmts.push(Stmt::Expr(then, Some(Default::default())));
        it.then_branch.stmts.extend(rest);
    }
}

/// Rewrites an expression in tail position: the last one of a body, or the body of a closure.
pub fn in_tail(expr: &mut Expr) {
    match expr {
        Expr::Return(it) => *expr = it.expr.take().map_or_else(|| parse_quote!(()), |e| *e),
        Expr::Block(it) if it.label.is_none() => to_values(&mut it.block),
        Expr::If(it) if it.else_branch.is_some() || !is_host(it) => {
            to_values(&mut it.then_branch);
            if let Some((_, other)) = &mut it.else_branch {
                in_tail(other);
            }
        }
        Expr::Match(it) => it.arms.iter_mut().for_each(|arm| in_tail(&mut arm.body)),
        _ => {}
    }
}

/// Whether every way through the expression ends in a `return` that [`in_tail`] can turn into a value.
fn leaves(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) => true,
        Expr::Block(it) if it.label.is_none() => leaves_block(&it.block),
        Expr::If(it) => leaves_block(&it.then_branch) && else_leaves(it),
        Expr::Match(it) => !it.arms.is_empty() && it.arms.iter().all(|arm| leaves(&arm.body)),
        _ => false,
    }
}

fn leaves_block(block: &Block) -> bool {
    matches!(block.stmts.last(), Some(Stmt::Expr(last, _)) if leaves(last))
}

fn else_leaves(it: &ExprIf) -> bool {
    it.else_branch.as_ref().is_some_and(|(_, other)| leaves(other))
}
