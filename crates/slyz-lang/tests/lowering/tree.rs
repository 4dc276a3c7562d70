//! Typed trees, short to write.

use slyz_lang::span::Span;
use slyz_lang::typed::*;
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

pub fn made(ty: Ty, kind: ExprKind) -> Expr {
    Expr { ty, kind, span: Span::default() }
}

pub fn int(value: i64) -> Expr {
    made(Ty::I64, ExprKind::Const(Scalar::i64(value)))
}

pub fn truth(value: bool) -> Expr {
    made(Ty::Bool, ExprKind::Const(Scalar::bool(value)))
}

pub fn var(local: u32) -> Expr {
    made(Ty::I64, ExprKind::Local(LocalId(local)))
}

pub fn apply(operator: Operator, args: Vec<Expr>) -> Expr {
    let tys: Vec<Ty> = args.iter().map(|arg| arg.ty).collect();
    made(operator.result(&tys).expect("types fit"), ExprKind::Apply(operator, args))
}

pub fn lt(a: Expr, b: Expr) -> Expr {
    apply(Operator::Lt, vec![a, b])
}

pub fn eq(a: Expr, b: Expr) -> Expr {
    apply(Operator::Eq, vec![a, b])
}

pub fn add(a: Expr, b: Expr) -> Expr {
    apply(Operator::Add, vec![a, b])
}

pub fn set(local: u32, value: Expr) -> Stmt {
    Stmt::Set(LocalId(local), value)
}

pub fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then, otherwise: vec![] }
}

pub fn count(counter: u32, lo: i64, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For { counter: LocalId(counter), lo: int(lo), hi, step: int(1), body }
}

pub fn load(param: u32, index: Expr) -> Expr {
    made(Ty::I64, ExprKind::Load(MemoryRef::Param(param), vec![index]))
}

pub fn store(param: u32, index: Expr, value: Expr) -> Stmt {
    Stmt::Store { memory: MemoryRef::Param(param), index: vec![index], value, span: Span::default() }
}

pub fn tensor(name: &str, mutable: bool) -> Param {
    Param { name: name.into(), kind: ParamKind::Tensor { elem: Ty::I64, rank: 1, flat: true, mutable } }
}

pub fn locals(tys: &[Ty]) -> Vec<Local> {
    tys.iter().map(|&ty| Local { name: "x".into(), ty }).collect()
}

/// A kernel over `i64` tensors `a` (read) and `out`, with `n` (local 0) and so many locals of `i64`.
pub fn kernel(body: Vec<Stmt>, count: usize) -> Function {
    let n = Param { name: "n".into(), kind: ParamKind::Scalar(LocalId(0), Ty::I64) };
    Function {
        name: "k".into(),
        launches: true,
        unchecked: false,
        as_written: false,
        params: vec![tensor("a", false), tensor("out", true), n],
        result: None,
        locals: locals(&vec![Ty::I64; count]),
        arrays: vec![],
        body,
    }
}

/// A function as text, for messages.
pub fn shown(function: &Function) -> String {
    let mut text = format!("fn {} {{\n", function.name);
    list(&function.body, 1, &mut text);
    text + "}\n"
}

fn list(stmts: &[Stmt], depth: usize, text: &mut String) {
    let pad = "  ".repeat(depth);
    for stmt in stmts {
        match stmt {
            Stmt::Set(local, value) => *text += &format!("{pad}x{} = {}\n", local.0, expr(value)),
            Stmt::Store { memory, index, value, .. } => {
                *text += &format!("{pad}{memory:?}{} = {}\n", exprs(index), expr(value))
            }
            Stmt::Fill(array, value) => *text += &format!("{pad}fill {array:?} {}\n", expr(value)),
            Stmt::Expr(value) => *text += &format!("{pad}{}\n", expr(value)),
            Stmt::If { cond, then, otherwise } => {
                *text += &format!("{pad}if {} {{\n", expr(cond));
                list(then, depth + 1, text);
                *text += &format!("{pad}}} else {{\n");
                list(otherwise, depth + 1, text);
                *text += &format!("{pad}}}\n");
            }
            Stmt::For { counter, lo, hi, step, body } => {
                let [lo, hi, step] = [lo, hi, step].map(expr);
                *text += &format!("{pad}for x{} in {lo}..{hi} step {step} {{\n", counter.0);
                list(body, depth + 1, text);
                *text += &format!("{pad}}}\n");
            }
            Stmt::While { cond, body } => {
                *text += &format!("{pad}while {} {{\n", expr(cond));
                list(body, depth + 1, text);
                *text += &format!("{pad}}}\n");
            }
            Stmt::Return(Some(value)) => *text += &format!("{pad}return {}\n", expr(value)),
            Stmt::Break | Stmt::Continue | Stmt::Return(None) | Stmt::Barrier(_) | Stmt::Fence(_) => {
                *text += &format!("{pad}{stmt:?}\n")
            }
        }
    }
}

fn exprs(list: &[Expr]) -> String {
    format!("({})", list.iter().map(expr).collect::<Vec<_>>().join(", "))
}

fn expr(shown: &Expr) -> String {
    let block = |(stmts, value): &(Vec<Stmt>, Box<Expr>)| {
        let mut text = String::new();
        list(stmts, 8, &mut text);
        format!("{{ {}{} }}", if text.is_empty() { text } else { format!("\n{text}") }, expr(value))
    };
    match &shown.kind {
        ExprKind::Const(value) => format!("{value:?}"),
        ExprKind::Local(local) => format!("x{}", local.0),
        ExprKind::Apply(operator, args) => format!("{}{}", operator.name(), exprs(args)),
        ExprKind::AndThen(a, b) => format!("({} && {})", expr(a), expr(b)),
        ExprKind::OrElse(a, b) => format!("({} || {})", expr(a), expr(b)),
        ExprKind::Cast(arg) => format!("({} as {})", expr(arg), shown.ty),
        ExprKind::Load(memory, index) => format!("{memory:?}{}", exprs(index)),
        ExprKind::Atomic { op, memory, index, args } => {
            format!("atomic {op:?} {memory:?}{} by {}", exprs(index), exprs(args))
        }
        ExprKind::If { cond, then, otherwise } => {
            format!("if {} {} else {}", expr(cond), block(then), block(otherwise))
        }
        ExprKind::Call(function, args) => {
            let arg = |arg: &Arg| match arg {
                Arg::Value(value) => expr(value),
                Arg::Memory(memory) => format!("{memory:?}"),
            };
            format!("f{}({})", function.0, args.iter().map(arg).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Place(..) | ExprKind::Extent(..) | ExprKind::Bitcast(_) | ExprKind::Subgroup(..) => {
            format!("{:?}", shown.kind)
        }
    }
}
