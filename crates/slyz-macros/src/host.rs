//! Which `if`s are the host's, decided while tracing.

use syn::{BinOp, Expr, ExprIf};

/// Whether the `if` is decided while tracing: `#[host] if`, `if let`.
pub fn is_host(it: &ExprIf) -> bool {
    host_attribute(it).is_some() || has_let(&it.cond)
}

/// Where the `#[host]` of an `if` is.
pub fn host_attribute(it: &ExprIf) -> Option<usize> {
    it.attrs.iter().position(|attr| attr.path().is_ident("host"))
}

/// Whether a condition binds names, which only the host can do.
pub fn has_let(cond: &Expr) -> bool {
    match cond {
        Expr::Let(_) => true,
        Expr::Binary(it) if matches!(it.op, BinOp::And(_)) => has_let(&it.left) || has_let(&it.right),
        _ => false,
    }
}
