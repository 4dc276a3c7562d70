//! Stores in which threads surely, or likely, write one element.

use super::rules;
use super::spread::{Level, Spread};
use super::uniform::{Shared, Walk};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::typed::inside::each_expr;
use crate::typed::{Arg, Expr, ExprKind, MemoryRef};

/// Looks at a store of `value` at `index`, whose level is `at`.
pub(super) fn store(walk: &mut Walk, memory: MemoryRef, index: &[Expr], at: Level, value: &Expr, span: Span) {
    let shared = walk.shared(memory);
    if matches!(shared, Shared::Own(_)) || walk.alone() {
        return;
    }
    let name = walk.name(memory);
    let reach = at.spread.max(walk.whole_flow().spread());
    let guard = if shared == Shared::Block { "if local.x == 0" } else { "if global.x == 0" };
    let one = format!("let one thread do it: `{guard} {{ .. }}`, or let the index depend on the thread");
    match (shared, reach) {
        (Shared::Launch, Spread::Grid) => {
            let message = format!("all threads write the same element of `{name}`");
            report(walk, Diagnostic::error(rules::RACE, span, message).help(one));
        }
        (Shared::Block, Spread::Grid | Spread::Block) => {
            let message = format!("all threads of a block write the same element of `{name}`");
            report(walk, Diagnostic::error(rules::RACE, span, message).help(one));
        }
        (Shared::Launch, Spread::Block) => {
            let message = format!("all threads of a block write the same element of `{name}`");
            let help = "let one thread of the block do it: `if local.x == 0 { .. }`";
            report(walk, Diagnostic::warning(rules::BLOCK_RACE, span, message).help(help));
        }
        _ => update(walk, memory, index, at, value, span),
    }
}

/// In a function, the call that makes it so is shown.
fn report(walk: &mut Walk, diagnostic: Diagnostic) {
    let diagnostic = match walk.called_from {
        Some(call) => diagnostic.related(call, "as it is called here"),
        None => diagnostic,
    };
    walk.say(diagnostic);
}

/// `hist[bins[i]] += 1`: what was read may be old when it is written.
fn update(walk: &mut Walk, memory: MemoryRef, index: &[Expr], at: Level, value: &Expr, span: Span) {
    if !at.data || at.spread < Spread::Thread {
        return;
    }
    let mut reads_itself = false;
    each_expr(value, &mut |e| {
        if let ExprKind::Load(from, place) = &e.kind {
            reads_itself |= *from == memory && same_list(place, index);
        }
    });
    if reads_itself {
        let name = walk.name(memory);
        let message = format!("where two threads have the same index, one of their updates of `{name}` is lost");
        let help = if matches!(value.ty.bytes(), 4 | 8) && value.ty.is_int() {
            "use `atomic.add` or another atomic; if no two indices are the same, this is fine"
        } else {
            "use an i32 or u32 tensor and `atomic.add`; if no two indices are the same, this is fine"
        };
        walk.say(Diagnostic::warning(rules::RACY_UPDATE, span, message).help(help));
    }
}

fn same_list(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

/// The same expression, wherever it is written.
fn same(a: &Expr, b: &Expr) -> bool {
    a.ty == b.ty
        && match (&a.kind, &b.kind) {
            (ExprKind::Apply(f, x), ExprKind::Apply(g, y)) => f == g && same_list(x, y),
            (ExprKind::Load(m, x), ExprKind::Load(n, y)) => m == n && same_list(x, y),
            (ExprKind::Cast(x), ExprKind::Cast(y)) | (ExprKind::Bitcast(x), ExprKind::Bitcast(y)) => same(x, y),
            (ExprKind::AndThen(p, x), ExprKind::AndThen(q, y)) | (ExprKind::OrElse(p, x), ExprKind::OrElse(q, y)) => {
                same(p, q) && same(x, y)
            }
            (ExprKind::Call(f, x), ExprKind::Call(g, y)) => {
                let arg = |(a, b): (&Arg, &Arg)| match (a, b) {
                    (Arg::Value(a), Arg::Value(b)) => same(a, b),
                    (Arg::Memory(a), Arg::Memory(b)) => a == b,
                    (Arg::Value(_), Arg::Memory(_)) | (Arg::Memory(_), Arg::Value(_)) => false,
                };
                f == g && x.len() == y.len() && x.iter().zip(y).all(arg)
            }
            (ExprKind::Atomic { .. } | ExprKind::Subgroup(..) | ExprKind::If { .. }, _) => false,
            (x, y) => x == y,
        }
}
