//! Graph functions that give something, at a launch.
//!
//! ```text
//! graph fn square(x: Tensor<f32>): f32 {        graph fn square_each(x: Tensor<f32>, result: Tensor<f32, 1>!) {
//!     return x[thread.x] * x[thread.x]     →        result[thread.x] = x[thread.x] * x[thread.x]
//! }                                                 return
//!                                               }
//! let y = launch square(x) with threads: n      // y is the tensor of what each thread gives
//! ```
//!
//! So they do in Rust, where `square(&x).threads(n).run()?` is that tensor.
//!
//! A function that gives a number is called by kernels as before; what is launched is a second one, which stores it at the place of its thread.
//! One that gives a tensor gives one of those that it writes: `return out`.

use super::visit::{Node, visit};
use super::{Dialect, rules};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{
    Block, Expr, ExprKind, File, Function, Item, LaunchConfig, Name, Param, Pattern, Role, Stmt, StmtKind, TypeExpr,
    TypeKind,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is added to the name of a function that is launched with so many axes.
const ENDINGS: [&str; 3] = ["_each", "_each_xy", "_each_xyz"];

/// How deep a tree may be to be copied; checked ones are less deep.
const DEEPEST: usize = 500;

/// The kernel that a launch with so many axes of a function that gives a number is.
pub fn kernel_name(function: &str, axes: usize) -> String {
    format!("{function}{}", ENDINGS[axes.clamp(1, 3) - 1])
}

/// Is that kernel one of that function's?
pub fn is_of(kernel: &str, function: &str) -> bool {
    kernel.strip_prefix(function).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// How many axes the threads of a launch have; none where it does not say.
pub(crate) fn axes(config: &LaunchConfig) -> Option<usize> {
    config.threads.as_ref().or(config.grid.as_ref()).map(Vec::len)
}

/// What launches add to the functions of a file.
#[derive(Default)]
pub(crate) struct Launched {
    /// In the places of those that give a tensor, by place among the items.
    pub(crate) instead: BTreeMap<usize, Function>,
    /// Beside those that give a number.
    pub(crate) besides: Vec<Function>,
}

/// The functions that the launches of a file need. Those of Rust are launched with as many axes as they read coordinates of.
pub(crate) fn needed(file: &File, dialect: Dialect, say: &mut dyn FnMut(Diagnostic)) -> Launched {
    let launched = match dialect {
        Dialect::Vex => launched(file),
        Dialect::Rust => file
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Function(function) => Some((&function.name.text[..], coordinates(function)?)),
                Item::Stmt(_) | Item::Foreign(_) => None,
            })
            .collect(),
    };
    let mut needed = Launched::default();
    for (place, item) in file.items.iter().enumerate() {
        let Item::Function(function) = item else { continue };
        let Some(result) = function.result.as_ref().filter(|_| function.role == Role::Graph) else { continue };
        // What is nested deeper is refused, and too deep to be copied.
        if !is_shallow(function) {
            continue;
        }
        match &result.kind {
            TypeKind::Tensor { .. } => drop(needed.instead.insert(place, without_result(function, say))),
            TypeKind::Scalar(_) => {
                let axes = launched.iter().filter(|(name, _)| *name == function.name.text).map(|(_, axes)| *axes);
                needed.besides.extend(axes.map(|axes| each(function, result, axes)));
            }
            _ => {}
        }
    }
    needed
}

/// Can its tree be copied?
fn is_shallow(function: &Function) -> bool {
    let mut deepest = 0;
    visit(Node::Block(&function.body), &mut |_, depth| {
        deepest = deepest.max(depth.all);
        deepest <= DEEPEST
    });
    deepest <= DEEPEST
}

/// The functions that the host launches, and with how many axes.
fn launched(file: &File) -> BTreeSet<(&str, usize)> {
    let mut found = BTreeSet::new();
    let mut note = |node: Node<'_>| {
        if let Node::Expr(Expr { kind: ExprKind::Launch { function, config, .. }, .. }) = node {
            found.extend(axes(config).map(|axes| (function.text.clone(), axes)));
        }
    };
    for item in &file.items {
        let root = match item {
            Item::Function(function) => Node::Block(&function.body),
            Item::Stmt(stmt) => Node::Stmt(stmt),
            Item::Foreign(_) => continue,
        };
        visit(root, &mut |node, _| {
            note(node);
            true
        });
    }
    // The names of the file live longer than those that were copied.
    let named = |name: &str| {
        file.items.iter().find_map(|item| match item {
            Item::Function(function) if function.name.text == name => Some(&function.name.text[..]),
            _ => None,
        })
    };
    found.iter().filter_map(|(name, axes)| Some((named(name)?, *axes))).collect()
}

/// How many coordinates of its thread a function reads; without any it helps others.
fn coordinates(function: &Function) -> Option<usize> {
    let mut axes = None;
    visit(Node::Block(&function.body), &mut |node, depth| {
        if let Node::Expr(Expr { kind: ExprKind::Field(of, field), .. }) = node
            && matches!(&of.kind, ExprKind::Name(name) if name == "thread")
        {
            axes = axes.max(["x", "y", "z"].iter().position(|axis| *axis == field.text).map(|place| place + 1));
        }
        depth.all <= DEEPEST
    });
    axes
}

/// The function whose threads store what they give.
fn each(function: &Function, result: &TypeExpr, axes: usize) -> Function {
    let span = result.span;
    let name = free_name(function);
    let expr = |kind: ExprKind| Expr { kind, span };
    let coordinate = |axis: &str| {
        let thread = Box::new(expr(ExprKind::Name("thread".to_string())));
        expr(ExprKind::Field(thread, Name { text: axis.to_string(), span }))
    };
    let index: Vec<Expr> = ["x", "y", "z"][..axes].iter().rev().map(|axis| coordinate(axis)).collect();
    let place = expr(ExprKind::Index(Box::new(expr(ExprKind::Name(name.clone()))), index));
    let store = |value: Expr, span: Span| {
        let kind = StmtKind::Assign { target: place.clone(), operator: None, value };
        vec![Stmt { kind, span }, Stmt { kind: StmtKind::Return(None), span }]
    };
    let rank = Some(Box::new(expr(ExprKind::Int(axes as u128, None))));
    let kind = TypeKind::Tensor { elem: Box::new(TypeExpr { mutable: false, ..result.clone() }), rank };
    let param = Param { name: Name { text: name, span }, ty: TypeExpr { kind, mutable: true, span } };
    let mut made = function.clone();
    made.name.text = kernel_name(&function.name.text, axes);
    made.params.push(param);
    made.result = None;
    if let Some(value) = made.body.value.take() {
        let span = value.span;
        made.body.stmts.push(Stmt { kind: StmtKind::Return(Some(*value)), span });
    }
    replace_returns(&mut made.body, &store);
    // Nothing follows the last one.
    if let Some(Stmt { kind: StmtKind::Return(None), .. }) = made.body.stmts.last() {
        made.body.stmts.pop();
    }
    made
}

/// A name that the function has no use for.
fn free_name(function: &Function) -> String {
    let mut used: HashSet<&str> = function.params.iter().map(|param| &param.name.text[..]).collect();
    visit(Node::Block(&function.body), &mut |node, _| {
        match node {
            Node::Stmt(Stmt { kind: StmtKind::Let { name, .. } | StmtKind::For { name, .. }, .. }) => {
                used.insert(&name.text);
            }
            Node::Pattern(Pattern::Name { name, .. }) => drop(used.insert(&name.text)),
            Node::Expr(Expr { kind: ExprKind::Name(name), .. }) => drop(used.insert(name)),
            _ => {}
        }
        true
    });
    let mut name = "result".to_string();
    let mut number = 1;
    while used.contains(&name[..]) {
        number += 1;
        name = format!("result{number}");
    }
    name
}

fn replace_returns(block: &mut Block, store: &dyn Fn(Expr, Span) -> Vec<Stmt>) {
    let mut stmts = vec![];
    for mut stmt in std::mem::take(&mut block.stmts) {
        match &mut stmt.kind {
            StmtKind::Return(Some(_)) => {
                if let StmtKind::Return(Some(value)) = stmt.kind {
                    stmts.extend(store(value, stmt.span));
                }
                continue;
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => replace_returns(body, store),
            StmtKind::Expr(expr) => in_branches(expr, store),
            _ => {}
        }
        stmts.push(stmt);
    }
    block.stmts = stmts;
    if let Some(value) = &mut block.value {
        in_branches(value, store);
    }
}

fn in_branches(expr: &mut Expr, store: &dyn Fn(Expr, Span) -> Vec<Stmt>) {
    if let ExprKind::If { then, otherwise, .. } = &mut expr.kind {
        replace_returns(then, store);
        if let Some(otherwise) = otherwise {
            replace_returns(otherwise, store);
        }
    }
}

/// Which parameter a function that gives a tensor gives.
pub(crate) fn given_param(function: &Function) -> Result<usize, Box<Diagnostic>> {
    let span = function.result.as_ref().map_or(function.span, |result| result.span);
    let wrong = |span: Span, message: &str| {
        Diagnostic::error(rules::TENSOR_TYPE, span, message)
            .help("take it as a parameter that is written, `out: Tensor<f32>!`, and end with `return out`")
    };
    let mut given: Option<usize> = None;
    let mut problem = None;
    visit(Node::Block(&function.body), &mut |node, _| {
        let Node::Stmt(Stmt { kind: StmtKind::Return(value), span }) = node else { return true };
        let name = match value.as_ref().map(|value| &value.kind) {
            Some(ExprKind::Name(name)) => Some(name),
            _ => None,
        };
        let place = name.and_then(|name| {
            let written = |param: &Param| param.name.text == *name && param.ty.mutable;
            function.params.iter().position(written)
        });
        match (place, given) {
            (Some(place), Some(other)) if place != other => {
                problem = Some(wrong(*span, "a launch gives one tensor, whichever thread is asked"));
            }
            (Some(place), _) => given = Some(place),
            (None, _) => problem = Some(wrong(*span, "a launch gives a tensor that its kernel writes")),
        }
        problem.is_none()
    });
    match (problem, given) {
        (Some(problem), _) => Err(problem.into()),
        (None, Some(given)) => Ok(given),
        (None, None) => Err(wrong(span, "it says that it gives a tensor, and names none").into()),
    }
}

/// A function that gives a tensor: its threads only write it.
fn without_result(function: &Function, say: &mut dyn FnMut(Diagnostic)) -> Function {
    let mut made = function.clone();
    if let Err(wrong) = given_param(function) {
        say(*wrong);
    }
    made.result = None;
    replace_returns(&mut made.body, &|_, span| vec![Stmt { kind: StmtKind::Return(None), span }]);
    made
}
