//! The checker takes any tree: texts that are nearly right, and trees that no parser makes.

#[allow(dead_code)]
mod golden;

use proptest::prelude::*;
use slyz_lang::check::{Dialect, check};
use slyz_lang::lower::lower;
use slyz_lang::parse::parse;
use slyz_lang::span::Span;
use slyz_lang::syntax::{BinaryOp, Block, Expr, ExprKind, File, Function, Item, Name, Role, Stmt, StmtKind, UnaryOp};
use slyz_lang::typed::{FunctionId, Program};
use slyz_sir::ops::Operator;
use slyz_trials::property;

/// All goldens, cut into words.
fn words() -> Vec<Vec<String>> {
    let files = golden::files("check_errors").into_iter().chain(golden::files("page"));
    files
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let mut words: Vec<String> = vec![String::new()];
            let mut before = ' ';
            for c in text.chars() {
                if !(c.is_alphanumeric() && before.is_alphanumeric()) {
                    words.push(String::new());
                }
                words.last_mut().unwrap().push(c);
                before = c;
            }
            words
        })
        .collect()
}

/// What the checker lets through can be lowered.
fn lowered(program: &Program) {
    for (k, _) in program.functions.iter().enumerate().filter(|(_, f)| f.launches) {
        let Ok(template) = lower(program, FunctionId(k as u32)) else { continue };
        if let Err(error) = slyz_sir::verify::kernel(&template.kernel) {
            panic!("{error}\n{program:#?}");
        }
    }
}

#[test]
fn random_texts_are_checked() {
    property(
        "random_texts_are_checked",
        600,
        (0usize..1000, prop::collection::vec((0usize..100_000, 0usize..100_000, 0usize..4), 1..8)),
        |(file, edits)| {
            let all = words();
            let mut text = all[file % all.len()].clone();
            for (at, other, kind) in edits {
                let (at, from) = (at % text.len(), &all[other % all.len()]);
                match kind {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, from[other % from.len()].clone()),
                    2 => text[at] = from[other % from.len()].clone(),
                    _ => {
                        let other = other % text.len();
                        text.swap(at, other)
                    }
                }
                if text.is_empty() {
                    break;
                }
            }
            let text = text.concat();
            let (tree, parsed) = parse(&text);
            let graphs = tree.items.iter().any(|item| matches!(item, Item::Function(f) if f.role == Role::Graph));
            for dialect in [Dialect::Vex, Dialect::Rust] {
                let checked = check(&tree, dialect);
                let errors = parsed.iter().chain(&checked.diagnostics).any(|d| d.is_error());
                lowered(&checked.program);
                // Nothing is dropped in silence.
                prop_assert!(errors || !graphs || !checked.program.functions.is_empty(), "{}", text);
            }
            Ok(())
        },
    );
}

/// Levels inside each other that are allowed, less those around.
const DEEP: usize = 250;

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

fn file(body: Vec<Stmt>) -> File {
    let name = Name { text: "k".into(), span: Span::default() };
    let body = Block { stmts: body, value: None, span: Span::default() };
    let (params, result, span) = (vec![], None, Span::default());
    let function =
        Function { role: Role::Graph, unchecked: false, as_written: false, name, params, result, body, span };
    File { items: vec![Item::Function(function)] }
}

#[test]
fn trees_of_any_depth_are_refused_in_words() {
    for right in [false, true] {
        let mut deep = expr(ExprKind::Int(1, None));
        for _ in 0..100_000 {
            let one = Box::new(expr(ExprKind::Int(1, None)));
            let (x, y) = if right { (one, Box::new(deep)) } else { (Box::new(deep), one) };
            deep = expr(ExprKind::Binary(BinaryOp::Table(Operator::Add), Span::default(), x, y));
        }
        let tree = file(vec![Stmt { kind: StmtKind::Expr(deep), span: Span::default() }]);
        let checked = check(&tree, Dialect::Rust);
        assert!(checked.diagnostics.iter().any(|d| d.rule == "too-deep"));
        // Taking such a tree apart is a recursion of its own.
        std::mem::forget(tree);
    }
}

#[test]
fn a_tree_as_deep_as_allowed_fits_on_the_stack() {
    let mut body = vec![];
    for _ in 0..DEEP / 2 {
        let cond = Box::new(expr(ExprKind::Bool(true)));
        let then = Block { stmts: body, value: None, span: Span::default() };
        let kind = StmtKind::Expr(expr(ExprKind::If { cond, then, otherwise: None }));
        body = vec![Stmt { kind, span: Span::default() }];
    }
    let checked = check(&file(body), Dialect::Rust);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    assert_eq!(checked.program.functions.len(), 1);
}

#[test]
fn calls_as_deep_as_allowed_fit_on_the_stack() {
    let mut deep = expr(ExprKind::Float("1.0".into(), None));
    for k in 0..DEEP {
        let one = expr(ExprKind::Float("1.0".into(), None));
        let function = Name { text: "max".into(), span: Span::default() };
        deep = match k % 3 {
            0 => expr(ExprKind::Call { function, ty: None, args: vec![one, deep] }),
            1 => expr(ExprKind::Method { receiver: Box::new(one), name: function, ty: None, args: vec![deep] }),
            _ => expr(ExprKind::Unary(UnaryOp::Neg, Box::new(deep))),
        };
    }
    let checked = check(&file(vec![Stmt { kind: StmtKind::Expr(deep), span: Span::default() }]), Dialect::Rust);
    assert!(checked.diagnostics.iter().all(|d| d.rule == "unused-result"), "{:?}", checked.diagnostics);
}

#[test]
fn long_chains_of_calls_are_refused_in_words() {
    let mut text = String::from("fn f0(x: f32): f32 {\n return x\n}\n");
    for k in 1..2000 {
        text += &format!("fn f{k}(x: f32): f32 {{\n return f{}(x)\n}}\n", k - 1);
    }
    text += "graph fn k(out: Tensor<f32>!) {\n out[thread.x] = f1999(1.0)\n}\n";
    let (tree, _) = parse(&text);
    assert!(check(&tree, Dialect::Vex).diagnostics.iter().any(|d| d.rule == "too-deep"));
}
