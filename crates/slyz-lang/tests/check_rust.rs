//! Remedies as they are spelled in Rust, and what only Rust can say.

use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::parse::parse;
use slyz_lang::span::Span;
use slyz_lang::syntax::{Block, Expr, ExprKind, File, Forbidden, Function, Item, Name, Role, Stmt, StmtKind};

fn found(text: &str) -> Vec<Diagnostic> {
    let (file, errors) = parse(text);
    assert!(errors.is_empty(), "{errors:?}");
    check(&file, Dialect::Rust).diagnostics
}

/// The remedy of the only error in a kernel.
#[track_caller]
fn help(body: &str) -> String {
    let found = found(&format!(
        "graph fn k(x: Tensor<f32>, m: Tensor<i32, 2>, out: Tensor<f32>!, n: i32) {{\nlet i = global.x\n{body}\n}}\n"
    ));
    assert_eq!(found.len(), 1, "{body}: {found:?}");
    found[0].help.clone().unwrap_or_default()
}

#[test]
fn remedies_are_rust() {
    assert_eq!(help("x[i] = 1.0"), "declare the parameter as `x: &mut Tensor<f32>`");
    assert_eq!(help("m[i, 0] = 1"), "declare the parameter as `m: &mut Tensor<i32, 2>`");
    assert_eq!(help("i = 3"), "declare it as `let mut i`");
    assert_eq!(help("n = 3"), "copy it first: `let mut n = n`");
    assert_eq!(
        help("threadgroup let t: [f32; 4]\nt[local.x] = 1.0"),
        "declare it as `#[threadgroup] let mut t: [f32; 4];`"
    );
    assert_eq!(help("threadgroup let! t: f32"), "write `#[threadgroup] let mut t: [f32; 1];`");
    assert_eq!(help("let! a: [f32; n]"), "write a number, or a name declared as `#[constant] let N: i64 = ..;`");
    assert_eq!(
        help("out[i] = x[i, i]"),
        "write `x[i]` with the position in row-major order, or declare it as `&Tensor<f32, 2>`"
    );
    assert_eq!(help("out[i] = m[i] as f32"), "write `m[(i, j)]`");
    assert_eq!(help("let a = bitcast(1.0)"), "write `bitcast::<u32>(..)`");
    assert_eq!(help("let! c = 0\nlet a: i32 = c"), "write `c as i32`, or declare it as `let mut c: i32`");
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

/// The rule that a single expression of a kernel breaks.
fn rule(kind: ExprKind) -> &'static str {
    let name = Name { text: "k".into(), span: Span::default() };
    let stmts = vec![Stmt { kind: StmtKind::Expr(expr(kind)), span: Span::default() }];
    let body = Block { stmts, value: None, span: Span::default() };
    let (params, result, span) = (vec![], None, Span::default());
    let function =
        Function { role: Role::Graph, unchecked: false, as_written: false, name, params, result, body, span };
    let checked = check(&File { items: vec![Item::Function(function)] }, Dialect::Rust);
    assert_eq!(checked.diagnostics.len(), 1, "{:?}", checked.diagnostics);
    checked.diagnostics[0].rule
}

#[test]
fn paths_are_told_apart() {
    let call = |path: &str, args: Vec<Expr>| ExprKind::Call {
        function: Name { text: path.into(), span: Span::default() },
        ty: None,
        args,
    };
    let text = || expr(ExprKind::Text("text".into()));
    assert_eq!(rule(call("Box::new", vec![expr(ExprKind::Int(1, None))])), "heap-allocation");
    assert_eq!(rule(call("std::vec::Vec::with_capacity", vec![expr(ExprKind::Int(1, None))])), "heap-allocation");
    assert_eq!(rule(call("String::from", vec![text()])), "heap-allocation");
    assert_eq!(rule(call("Tensor::zeros", vec![expr(ExprKind::Int(4, None))])), "heap-allocation");
    assert_eq!(rule(call("std::fs::read", vec![text()])), "foreign-call");
    assert_eq!(rule(call("panic", vec![text()])), "panic");
    assert_eq!(rule(call("f32::from_bits", vec![expr(ExprKind::Int(1, None))])), "unused-result");
    assert_eq!(rule(ExprKind::Name("f32::MAX".into())), "unused-result");
    assert_eq!(rule(ExprKind::Name("std::f32::consts::PI".into())), "unused-result");
    assert_eq!(rule(ExprKind::Name("u128::MAX".into())), "unknown-name");
    let foreign = |what, text: &str| ExprKind::Foreign { what, text: text.into() };
    assert_eq!(rule(foreign(Forbidden::Await, ".await")), "await");
    assert_eq!(rule(foreign(Forbidden::Panic, "assert_eq!")), "panic");
    assert_eq!(rule(foreign(Forbidden::Unsupported, "match")), "unsupported");
}
