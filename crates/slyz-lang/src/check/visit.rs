//! Visits all of a function's syntax in the order it is written, without recursion: this is the one walk that may be
//! handed trees of any depth.

use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, TypeExpr, TypeKind};

/// A part of a function.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    Block(&'a Block),
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    Type(&'a TypeExpr),
    Pattern(&'a Pattern),
}

/// How deep a part is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Depth {
    /// Parts around it.
    pub all: usize,
    /// Those that are read by recursion: sums lean to the left and are read by loops.
    pub nested: usize,
}

/// Calls `f` with every part and how deep it is, until `f` says stop by `false`.
pub(crate) fn visit<'a>(root: Node<'a>, f: &mut dyn FnMut(Node<'a>, Depth) -> bool) {
    let mut open = vec![(root, Depth::default())];
    let mut inner = vec![];
    while let Some((node, depth)) = open.pop() {
        if !f(node, depth) {
            return;
        }
        parts(node, &mut inner);
        let leans = matches!(node, Node::Expr(Expr { kind: ExprKind::Binary(BinaryOp::Table(_), ..), .. }));
        let nests = matches!(node, Node::Expr(_) | Node::Block(_) | Node::Type(_) | Node::Pattern(_));
        let below = inner.drain(..).enumerate().map(|(k, part)| {
            let nested = depth.nested + usize::from(nests && !(leans && k == 0));
            (part, Depth { all: depth.all + 1, nested })
        });
        let at = open.len();
        open.extend(below);
        open[at..].reverse();
    }
}

fn parts<'a>(node: Node<'a>, out: &mut Vec<Node<'a>>) {
    match node {
        Node::Block(block) => {
            out.extend(block.stmts.iter().map(Node::Stmt));
            out.extend(block.value.iter().map(|e| Node::Expr(e)));
        }
        Node::Stmt(stmt) => of_stmt(stmt, out),
        Node::Expr(expr) => of_expr(expr, out),
        Node::Type(ty) => match &ty.kind {
            TypeKind::Scalar(_) | TypeKind::Other(_) | TypeKind::Wrong => {}
            TypeKind::Tensor { elem, rank } => {
                out.push(Node::Type(elem));
                out.extend(rank.iter().map(|e| Node::Expr(e)));
            }
            TypeKind::Array { elem, len } => out.extend([Node::Type(elem), Node::Expr(len)]),
            TypeKind::Tuple(parts) => out.extend(parts.iter().map(Node::Type)),
        },
        Node::Pattern(Pattern::Tuple(parts, _)) => out.extend(parts.iter().map(Node::Pattern)),
        Node::Pattern(Pattern::Name { .. } | Pattern::Ignored(_)) => {}
    }
}

fn of_stmt<'a>(stmt: &'a Stmt, out: &mut Vec<Node<'a>>) {
    match &stmt.kind {
        StmtKind::Let { ty, value, .. } => {
            out.extend(ty.iter().map(Node::Type));
            out.extend(value.iter().map(Node::Expr));
        }
        StmtKind::LetTuple { pattern, ty, value } => {
            out.push(Node::Pattern(pattern));
            out.extend(ty.iter().map(Node::Type));
            out.push(Node::Expr(value));
        }
        StmtKind::Assign { target, value, .. } => out.extend([Node::Expr(target), Node::Expr(value)]),
        StmtKind::Expr(expr) => out.push(Node::Expr(expr)),
        StmtKind::For { lo, hi, step, body, .. } => {
            out.extend([Node::Expr(lo), Node::Expr(hi)]);
            out.extend(step.iter().map(Node::Expr));
            out.push(Node::Block(body));
        }
        StmtKind::While { cond, body } => out.extend([Node::Expr(cond), Node::Block(body)]),
        StmtKind::Return(value) => out.extend(value.iter().map(Node::Expr)),
        StmtKind::Print(args) => out.extend(args.iter().map(Node::Expr)),
        StmtKind::Break | StmtKind::Continue | StmtKind::Wrong => {}
    }
}

fn of_expr<'a>(expr: &'a Expr, out: &mut Vec<Node<'a>>) {
    match &expr.kind {
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Text(_)
        | ExprKind::Name(_)
        | ExprKind::Foreign { .. }
        | ExprKind::Wrong => {}
        ExprKind::Unary(_, x) | ExprKind::Field(x, _) | ExprKind::Borrow(_, x) => out.push(Node::Expr(x)),
        ExprKind::Binary(_, _, x, y) | ExprKind::Repeat(x, y) => out.extend([Node::Expr(x), Node::Expr(y)]),
        ExprKind::Fma(x, y, z) => out.extend([Node::Expr(x), Node::Expr(y), Node::Expr(z)]),
        ExprKind::Call { ty, args, .. } => {
            out.extend(ty.iter().map(Node::Type));
            out.extend(args.iter().map(Node::Expr));
        }
        ExprKind::Method { receiver, ty, args, .. } => {
            out.push(Node::Expr(receiver));
            out.extend(ty.iter().map(Node::Type));
            out.extend(args.iter().map(Node::Expr));
        }
        ExprKind::Index(x, index) => {
            out.push(Node::Expr(x));
            out.extend(index.iter().map(Node::Expr));
        }
        ExprKind::Cast(x, ty) => out.extend([Node::Expr(x), Node::Type(ty)]),
        ExprKind::If { cond, then, otherwise } => {
            out.extend([Node::Expr(cond), Node::Block(then)]);
            out.extend(otherwise.iter().map(Node::Block));
        }
        ExprKind::Launch { args, config, .. } => {
            out.extend(args.iter().map(Node::Expr));
            for list in [&config.threads, &config.grid, &config.block] {
                out.extend(list.iter().flatten().map(Node::Expr));
            }
        }
        ExprKind::Array(items) | ExprKind::Tuple(items) => out.extend(items.iter().map(Node::Expr)),
    }
}
