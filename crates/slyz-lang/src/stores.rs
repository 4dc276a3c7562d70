//! Where a function writes a memory, for those who talk about it.

use crate::check::visit::{Node, visit};
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind};

/// Where a function first writes to a memory of that name, or else where it declares it.
///
/// ```
/// use slyz_lang::{parse::parse, stores::first_store, syntax::Item};
/// let text = "graph fn f(x: Tensor<f32>!) {\n    let i = thread.x\n    x[i] = 1.0\n}";
/// let (file, _) = parse(text);
/// let Item::Function(function) = &file.items[0] else { unreachable!() };
/// let place = first_store(function, "x").map(|span| span.start as usize);
/// assert_eq!(place, text.find("x[i]"));
/// ```
pub fn first_store(function: &Function, name: &str) -> Option<Span> {
    let mut stored = None;
    let mut declared = None;
    visit(Node::Block(&function.body), &mut |node, _| {
        match node {
            Node::Stmt(Stmt { kind: StmtKind::Assign { target, .. }, .. }) if is_in(target, name) => {
                stored = Some(target.span);
            }
            Node::Stmt(Stmt { kind: StmtKind::Let { name: own, .. }, span }) if own.text == name => {
                declared.get_or_insert(*span);
            }
            Node::Expr(Expr { kind: ExprKind::Method { receiver, args, .. }, span }) => {
                let atomic = matches!(&receiver.kind, ExprKind::Name(name) if name == "atomic");
                if atomic && args.first().is_some_and(|place| is_in(place, name)) {
                    stored = Some(*span);
                }
            }
            _ => {}
        }
        stored.is_none()
    });
    stored.or(declared)
}

/// Is it an element of the memory?
fn is_in(place: &Expr, name: &str) -> bool {
    match &place.kind {
        ExprKind::Index(of, _) | ExprKind::Borrow(_, of) => is_in(of, name),
        ExprKind::Name(own) => own == name,
        _ => false,
    }
}
