//! Short expressions as they were written, for remedies that can be copied.
//!
//! A tree has no text; long expressions are not worth echoing anyway, so those give nothing.

use crate::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use slyz_sir::ops::Operator;
use slyz_sir::types::Ty;

const LONGEST: usize = 40;

/// The expression, if it is short.
pub(super) fn echo(expr: &Expr) -> Option<String> {
    let text = written(expr, 0)?;
    (text.len() <= LONGEST).then_some(text)
}

/// The expression as the operand of `as`, or dots.
pub(super) fn operand(expr: &Expr) -> String {
    match echo(expr) {
        Some(text) if is_tight(expr) => text,
        Some(text) => format!("({text})"),
        None => "(..)".into(),
    }
}

/// The expression, compared with zero.
pub(super) fn differs(expr: &Expr, ty: Ty) -> String {
    format!("{} != {}", operand(expr), if ty.is_float() { "0.0" } else { "0" })
}

fn is_tight(expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Fma(..) | ExprKind::If { .. })
}

/// The sign of an operator between two operands.
pub(crate) fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::AndThen => "&&",
        BinaryOp::OrElse => "||",
        BinaryOp::Table(operator) => match operator {
            Operator::Div => "/",
            Operator::Rem => "%",
            Operator::Shl => "<<",
            Operator::Shr => ">>",
            other => other.row().infix.unwrap_or(other.name()),
        },
    }
}

fn written(expr: &Expr, depth: usize) -> Option<String> {
    if depth > 6 {
        return None;
    }
    let inner = |e: &Expr| written(e, depth + 1);
    let list = |es: &[Expr]| Some(es.iter().map(inner).collect::<Option<Vec<_>>>()?.join(", "));
    Some(match &expr.kind {
        ExprKind::Int(value, ty) => format!("{value}{}", ty.map_or("", |t| t.name())),
        ExprKind::Float(digits, ty) => format!("{digits}{}", ty.map_or("", |t| t.name())),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Unary(UnaryOp::Neg, x) => format!("-{}", inner(x)?),
        ExprKind::Unary(UnaryOp::Not, x) => format!("!{}", inner(x)?),
        ExprKind::Binary(op, _, x, y) => {
            let side = |e: &Expr| {
                let text = inner(e)?;
                Some(if is_tight(e) { text } else { format!("({text})") })
            };
            format!("{} {} {}", side(x)?, sign(*op), side(y)?)
        }
        ExprKind::Call { function, ty: None, args } => format!("{}({})", function.text, list(args)?),
        ExprKind::Method { receiver, name, ty: None, args } => {
            format!("{}.{}({})", inner(receiver)?, name.text, list(args)?)
        }
        ExprKind::Field(x, name) => format!("{}.{}", inner(x)?, name.text),
        ExprKind::Index(x, index) => format!("{}[{}]", inner(x)?, list(index)?),
        ExprKind::Borrow(_, x) => inner(x)?,
        ExprKind::Text(_)
        | ExprKind::Fma(..)
        | ExprKind::Call { .. }
        | ExprKind::Method { .. }
        | ExprKind::Cast(..)
        | ExprKind::If { .. }
        | ExprKind::Array(_)
        | ExprKind::Repeat(..)
        | ExprKind::Tuple(_)
        | ExprKind::Launch { .. }
        | ExprKind::Foreign { .. }
        | ExprKind::Wrong => return None,
    })
}
