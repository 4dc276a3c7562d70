//! Statements and expressions of Rust as those of the surface tree.
//!
//! What the language does not have becomes [`ExprKind::Foreign`], so that the checker refuses it with its reason, along with
//! whatever else is wrong.

use super::items::{name, type_expr, unsupported};
use super::spans::Spans;
use slyz_lang::span::Span;
use slyz_lang::syntax::{
    BinaryOp, Block, Expr, ExprKind, Forbidden, Name, Pattern, Space, Stmt, StmtKind, TypeExpr, UnaryOp,
};
use slyz_sir::ops::Operator;
use slyz_sir::types::Ty;
use syn::visit::{self, Visit};
use syn::{BinOp, GenericArgument, Lit, Pat, PathArguments, RangeLimits, UnOp};

/// Statements in braces. Functions inside are helpers, and were taken out before.
pub fn block(block: &syn::Block, spans: &mut Spans) -> Block {
    let span = spans.between(block.brace_token.span.open(), block.brace_token.span.close());
    let mut stmts = vec![];
    let mut value = None;
    for (k, stmt) in block.stmts.iter().enumerate() {
        match stmt {
            syn::Stmt::Local(local) => stmts.extend(binding(local, spans)),
            syn::Stmt::Item(syn::Item::Fn(_)) => {}
            syn::Stmt::Item(item) => {
                let expr = unsupported(Forbidden::Unsupported, item, "an item", spans);
                stmts.push(Stmt { span: expr.span, kind: StmtKind::Expr(expr) });
            }
            syn::Stmt::Expr(last, None) if k + 1 == block.stmts.len() && gives_value(last) => {
                value = Some(Box::new(expr(last, spans)));
            }
            syn::Stmt::Expr(expr, _) => stmts.push(statement(expr, spans)),
            syn::Stmt::Macro(it) => {
                let expr = call_of_macro(&it.mac, spans);
                stmts.push(Stmt { span: expr.span, kind: StmtKind::Expr(expr) });
            }
        }
    }
    Block { stmts, value, span }
}

/// May the last expression of a block, without a semicolon, be its value?
fn gives_value(expr: &syn::Expr) -> bool {
    use syn::Expr::{Assign, Break, Continue, ForLoop, Loop, Return, While};
    match expr {
        Assign(_) | Break(_) | Continue(_) | ForLoop(_) | Loop(_) | Return(_) | While(_) => false,
        syn::Expr::Binary(binary) => assigning(&binary.op).is_none(),
        syn::Expr::If(it) => match &it.else_branch {
            None => false,
            // A block without a value cannot give one; the last statement of both decides.
            Some((_, otherwise)) => ends_in_value(&it.then_branch) && branch_ends_in_value(otherwise),
        },
        _ => true,
    }
}

fn ends_in_value(block: &syn::Block) -> bool {
    matches!(block.stmts.last(), Some(syn::Stmt::Expr(last, None)) if gives_value(last))
}

fn branch_ends_in_value(otherwise: &syn::Expr) -> bool {
    match otherwise {
        syn::Expr::Block(it) => ends_in_value(&it.block),
        other => gives_value(other),
    }
}

/// A `let`. One that the language does not have is refused once: its names are declared as wrong, and nobody speaks of them.
fn binding(local: &syn::Local, spans: &mut Spans) -> Vec<Stmt> {
    let span = spans.of(local);
    let has = |word: &str| local.attrs.iter().any(|attr| attr.path().is_ident(word));
    let space = match () {
        () if has("threadgroup") => Space::Threadgroup,
        () if has("constant") => Space::Constant,
        () => Space::Thread,
    };
    let (pattern, ty) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, Some(type_expr(&typed.ty, spans))),
        pattern => (pattern, None),
    };
    let refused = |expr: Expr, spans: &mut Spans| {
        let refusal = Stmt { span: expr.span, kind: StmtKind::Expr(expr) };
        let wrong = names_of(pattern).into_iter().map(|ident| {
            let name = name(ident, spans);
            let value = Some(Expr { kind: ExprKind::Wrong, span: name.span });
            Stmt { span: name.span, kind: StmtKind::Let { space: Space::Thread, mutable: true, name, ty: None, value } }
        });
        [refusal].into_iter().chain(wrong).collect()
    };
    let found = match names_or_refusal(pattern, spans) {
        Ok(found) => found,
        Err(refusal) => return refused(*refusal, spans),
    };
    let value = match &local.init {
        Some(syn::LocalInit { diverge: Some((token, _)), .. }) => {
            return refused(unsupported(Forbidden::Unsupported, token, "`let … else`", spans), spans);
        }
        init => init.as_ref().map(|init| expr(&init.expr, spans)),
    };
    let kind = match (found, value) {
        (Pattern::Name { name, mutable }, value) => StmtKind::Let { space, mutable, name, ty, value },
        (pattern, Some(value)) if space == Space::Thread => StmtKind::LetTuple { pattern, ty, value },
        (_, Some(_)) => {
            let what = "a tuple in shared or constant memory";
            return refused(unsupported(Forbidden::Pattern, pattern, what, spans), spans);
        }
        (_, None) => {
            let what = "a tuple of names without values";
            return refused(unsupported(Forbidden::Pattern, pattern, what, spans), spans);
        }
    };
    vec![Stmt { kind, span }]
}

/// A name, `_`, or a tuple of them; or what else it is, to be refused.
fn names_or_refusal(pattern: &Pat, spans: &mut Spans) -> Result<Pattern, Box<Expr>> {
    match pattern {
        Pat::Ident(plain) if plain.by_ref.is_none() && plain.subpat.is_none() => {
            Ok(Pattern::Name { name: name(&plain.ident, spans), mutable: plain.mutability.is_some() })
        }
        Pat::Wild(underscore) => Ok(Pattern::Ignored(spans.of(underscore))),
        Pat::Paren(inner) => names_or_refusal(&inner.pat, spans),
        Pat::Tuple(tuple) => {
            let parts = tuple.elems.iter().map(|part| names_or_refusal(part, spans)).collect::<Result<Vec<_>, _>>()?;
            Ok(Pattern::Tuple(parts, spans.of(tuple)))
        }
        other => Err(unsupported(Forbidden::Pattern, other, "a pattern in `let`", spans).into()),
    }
}

/// The names that a pattern binds.
fn names_of(pattern: &Pat) -> Vec<&syn::Ident> {
    struct Names<'a>(Vec<&'a syn::Ident>);
    impl<'a> Visit<'a> for Names<'a> {
        fn visit_pat_ident(&mut self, it: &'a syn::PatIdent) {
            self.0.push(&it.ident);
            visit::visit_pat_ident(self, it);
        }
    }
    let mut names = Names(vec![]);
    names.visit_pat(pattern);
    names.0
}

/// An expression that stands as a statement: assignments and loops are statements of their own.
fn statement(it: &syn::Expr, spans: &mut Spans) -> Stmt {
    let span = spans.of(it);
    let kind = match it {
        syn::Expr::Assign(assign) => {
            let target = expr(&assign.left, spans);
            let value = expr(&assign.right, spans);
            StmtKind::Assign { target, operator: None, value }
        }
        syn::Expr::Binary(binary) if assigning(&binary.op).is_some() => {
            let target = expr(&binary.left, spans);
            let value = expr(&binary.right, spans);
            StmtKind::Assign { target, operator: assigning(&binary.op).map(BinaryOp::Table), value }
        }
        syn::Expr::ForLoop(it) => return for_loop(it, span, spans),
        syn::Expr::While(it) => StmtKind::While { cond: expr(&it.cond, spans), body: block(&it.body, spans) },
        syn::Expr::Loop(it) => {
            let cond = Expr { kind: ExprKind::Bool(true), span: spans.of(&it.loop_token) };
            StmtKind::While { cond, body: block(&it.body, spans) }
        }
        syn::Expr::Break(it) if it.label.is_none() && it.expr.is_none() => StmtKind::Break,
        syn::Expr::Continue(it) if it.label.is_none() => StmtKind::Continue,
        syn::Expr::Return(it) => StmtKind::Return(it.expr.as_ref().map(|value| expr(value, spans))),
        other => StmtKind::Expr(expr(other, spans)),
    };
    Stmt { kind, span }
}

/// `for k in a..b`, `for k in (a..b).step_by(s)`.
fn for_loop(it: &syn::ExprForLoop, span: Span, spans: &mut Spans) -> Stmt {
    let refused = |expr: Expr| Stmt { span: expr.span, kind: StmtKind::Expr(expr) };
    let counter = match &*it.pat {
        Pat::Ident(pattern) => name(&pattern.ident, spans),
        Pat::Wild(underscore) => Name { text: "_".into(), span: spans.of(underscore) },
        other => return refused(unsupported(Forbidden::Unsupported, other, "a pattern in `for`", spans)),
    };
    let (range, step) = match &*it.expr {
        syn::Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
            (&*call.receiver, call.args.first())
        }
        range => (range, None),
    };
    let range = match range {
        syn::Expr::Paren(inner) => &*inner.expr,
        range => range,
    };
    let syn::Expr::Range(syn::ExprRange { start: Some(lo), end: Some(hi), limits, .. }) = range else {
        return refused(unsupported(Forbidden::Unsupported, &it.expr, "`for` over anything but `a..b`", spans));
    };
    let inclusive = matches!(limits, RangeLimits::Closed(_));
    let lo = expr(lo, spans);
    let hi = expr(hi, spans);
    let step = step.map(|step| expr(step, spans));
    Stmt { kind: StmtKind::For { name: counter, lo, hi, inclusive, step, body: block(&it.body, spans) }, span }
}

/// An expression.
pub fn expr(it: &syn::Expr, spans: &mut Spans) -> Expr {
    let span = spans.of(it);
    let boxed = |it: &syn::Expr, spans: &mut Spans| Box::new(expr(it, spans));
    let kind = match it {
        syn::Expr::Lit(lit) => return literal(lit, span, spans),
        syn::Expr::Path(path) => ExprKind::Name(path_text(&path.path)),
        syn::Expr::Paren(inner) => return Expr { span, ..expr(&inner.expr, spans) },
        syn::Expr::Group(inner) => return expr(&inner.expr, spans),
        syn::Expr::Unary(unary) => match unary.op {
            UnOp::Neg(_) => ExprKind::Unary(UnaryOp::Neg, boxed(&unary.expr, spans)),
            UnOp::Not(_) => ExprKind::Unary(UnaryOp::Not, boxed(&unary.expr, spans)),
            // Values are not behind references here.
            _ => return unsupported(Forbidden::Unsupported, it, "`*` in front of a value", spans),
        },
        syn::Expr::Binary(binary) => match between(&binary.op) {
            Some(op) => {
                let left = boxed(&binary.left, spans);
                let at = spans.of(&binary.op);
                ExprKind::Binary(op, at, left, boxed(&binary.right, spans))
            }
            None => return unsupported(Forbidden::Unsupported, it, "an assignment as a value", spans),
        },
        syn::Expr::Call(call) => match &*call.func {
            syn::Expr::Path(path) => ExprKind::Call {
                function: Name { text: path_text(&path.path), span: spans.of(path) },
                ty: type_argument(path.path.segments.last().map(|s| &s.arguments), spans),
                args: call.args.iter().map(|arg| expr(arg, spans)).collect(),
            },
            other => return unsupported(Forbidden::Unsupported, other, "a call of a value", spans),
        },
        syn::Expr::MethodCall(call) => ExprKind::Method {
            receiver: boxed(&call.receiver, spans),
            name: name(&call.method, spans),
            ty: match &call.turbofish {
                Some(arguments) => first_type(arguments, spans),
                None => None,
            },
            args: call.args.iter().map(|arg| expr(arg, spans)).collect(),
        },
        syn::Expr::Field(field) => {
            let base = boxed(&field.base, spans);
            let member = match &field.member {
                syn::Member::Named(ident) => name(ident, spans),
                syn::Member::Unnamed(index) => Name { text: index.index.to_string(), span: spans.of(index) },
            };
            ExprKind::Field(base, member)
        }
        syn::Expr::Index(index) => {
            let base = boxed(&index.expr, spans);
            let places = match &*index.index {
                syn::Expr::Tuple(tuple) => tuple.elems.iter().map(|place| expr(place, spans)).collect(),
                syn::Expr::Array(array) => array.elems.iter().map(|place| expr(place, spans)).collect(),
                place => vec![expr(place, spans)],
            };
            ExprKind::Index(base, places)
        }
        syn::Expr::Cast(cast) => ExprKind::Cast(boxed(&cast.expr, spans), type_expr(&cast.ty, spans)),
        syn::Expr::If(branch) => {
            if let syn::Expr::Let(condition) = &*branch.cond {
                return unsupported(Forbidden::Unsupported, condition, "`if let`", spans);
            }
            let cond = boxed(&branch.cond, spans);
            let then = block(&branch.then_branch, spans);
            let otherwise = branch.else_branch.as_ref().map(|(_, other)| match &**other {
                syn::Expr::Block(other) => block(&other.block, spans),
                // An `else if` is a value only where the whole `if` is one.
                other if gives_value(it) => {
                    let value = expr(other, spans);
                    Block { stmts: vec![], span: value.span, value: Some(Box::new(value)) }
                }
                other => {
                    let stmt = statement(other, spans);
                    Block { span: stmt.span, stmts: vec![stmt], value: None }
                }
            });
            ExprKind::If { cond, then, otherwise }
        }
        // `_ = value`.
        syn::Expr::Infer(_) => ExprKind::Name("_".into()),
        syn::Expr::Array(array) => ExprKind::Array(array.elems.iter().map(|item| expr(item, spans)).collect()),
        syn::Expr::Repeat(repeat) => ExprKind::Repeat(boxed(&repeat.expr, spans), boxed(&repeat.len, spans)),
        syn::Expr::Tuple(tuple) => ExprKind::Tuple(tuple.elems.iter().map(|item| expr(item, spans)).collect()),
        syn::Expr::Reference(it) => ExprKind::Borrow(it.mutability.is_some(), boxed(&it.expr, spans)),
        syn::Expr::Macro(it) => return call_of_macro(&it.mac, spans),
        syn::Expr::Await(it) => return unsupported(Forbidden::Await, &it.await_token, ".await", spans),
        syn::Expr::Async(it) => return unsupported(Forbidden::Await, &it.async_token, "async", spans),
        other => return unsupported(Forbidden::Unsupported, other, construct(other), spans),
    };
    Expr { kind, span }
}

/// What Rust calls an expression that the language does not have.
fn construct(it: &syn::Expr) -> &'static str {
    match it {
        syn::Expr::Closure(_) => "a closure",
        syn::Expr::Match(_) => "`match`",
        syn::Expr::Try(_) => "`?`",
        syn::Expr::Unsafe(_) => "`unsafe`",
        syn::Expr::Range(_) => "a range as a value",
        syn::Expr::Struct(_) => "a struct",
        syn::Expr::Block(_) => "a block as a value",
        syn::Expr::Break(_) | syn::Expr::Continue(_) => "a label",
        syn::Expr::ForLoop(_) | syn::Expr::While(_) | syn::Expr::Loop(_) => "a loop as a value",
        syn::Expr::Assign(_) => "an assignment as a value",
        _ => "this expression",
    }
}

fn call_of_macro(it: &syn::Macro, spans: &mut Spans) -> Expr {
    let called = it.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    let what = match &called[..] {
        "panic" | "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "debug_assert_eq" | "debug_assert_ne"
        | "unreachable" | "todo" | "unimplemented" => Forbidden::Panic,
        "vec" | "format" => Forbidden::Heap,
        _ => Forbidden::Unsupported,
    };
    unsupported(what, &it.path, &format!("{called}!"), spans)
}

fn literal(lit: &syn::ExprLit, span: Span, spans: &mut Spans) -> Expr {
    let suffix = |text: &str| if text.is_empty() { Some(None) } else { Ty::from_name(text).map(Some) };
    let kind = match &lit.lit {
        Lit::Int(int) => match (int.base10_parse::<u128>(), suffix(int.suffix())) {
            (Ok(_), Some(Some(ty))) if ty.is_float() => ExprKind::Float(int.base10_digits().into(), Some(ty)),
            (Ok(value), Some(ty)) => ExprKind::Int(value, ty),
            // `usize` is what Rust counts with; here it is `i64`.
            (Ok(value), None) if matches!(int.suffix(), "usize" | "isize") => ExprKind::Int(value, Some(Ty::I64)),
            (Ok(_) | Err(_), _) => return unsupported(Forbidden::Unsupported, lit, "a number of this type", spans),
        },
        Lit::Float(float) => match suffix(float.suffix()) {
            Some(ty) => ExprKind::Float(float.base10_digits().into(), ty),
            None => return unsupported(Forbidden::Unsupported, lit, "a number of this type", spans),
        },
        Lit::Bool(value) => ExprKind::Bool(value.value),
        Lit::Str(text) => ExprKind::Text(text.value()),
        other => return unsupported(Forbidden::Unsupported, other, "a literal of this kind", spans),
    };
    Expr { kind, span }
}

fn path_text(path: &syn::Path) -> String {
    path.segments.iter().map(|s| s.ident.to_string()).collect::<Vec<_>>().join("::")
}

fn type_argument(arguments: Option<&PathArguments>, spans: &mut Spans) -> Option<TypeExpr> {
    match arguments {
        Some(PathArguments::AngleBracketed(arguments)) => first_type(arguments, spans),
        Some(PathArguments::None | PathArguments::Parenthesized(_)) | None => None,
    }
}

fn first_type(arguments: &syn::AngleBracketedGenericArguments, spans: &mut Spans) -> Option<TypeExpr> {
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(type_expr(ty, spans)),
        _ => None,
    })
}

fn between(op: &BinOp) -> Option<BinaryOp> {
    use BinaryOp::Table;
    Some(match op {
        BinOp::Add(_) => Table(Operator::Add),
        BinOp::Sub(_) => Table(Operator::Sub),
        BinOp::Mul(_) => Table(Operator::Mul),
        BinOp::Div(_) => Table(Operator::Div),
        BinOp::Rem(_) => Table(Operator::Rem),
        BinOp::And(_) => BinaryOp::AndThen,
        BinOp::Or(_) => BinaryOp::OrElse,
        BinOp::BitXor(_) => Table(Operator::Xor),
        BinOp::BitAnd(_) => Table(Operator::And),
        BinOp::BitOr(_) => Table(Operator::Or),
        BinOp::Shl(_) => Table(Operator::Shl),
        BinOp::Shr(_) => Table(Operator::Shr),
        BinOp::Eq(_) => Table(Operator::Eq),
        BinOp::Lt(_) => Table(Operator::Lt),
        BinOp::Le(_) => Table(Operator::Le),
        BinOp::Ne(_) => Table(Operator::Ne),
        BinOp::Ge(_) => Table(Operator::Ge),
        BinOp::Gt(_) => Table(Operator::Gt),
        _ => return None,
    })
}

/// The operator of `+=` and its like.
fn assigning(op: &BinOp) -> Option<Operator> {
    Some(match op {
        BinOp::AddAssign(_) => Operator::Add,
        BinOp::SubAssign(_) => Operator::Sub,
        BinOp::MulAssign(_) => Operator::Mul,
        BinOp::DivAssign(_) => Operator::Div,
        BinOp::RemAssign(_) => Operator::Rem,
        BinOp::BitXorAssign(_) => Operator::Xor,
        BinOp::BitAndAssign(_) => Operator::And,
        BinOp::BitOrAssign(_) => Operator::Or,
        BinOp::ShlAssign(_) => Operator::Shl,
        BinOp::ShrAssign(_) => Operator::Shr,
        _ => return None,
    })
}
