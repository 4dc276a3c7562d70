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
        params: vec![tensor("a", false), tensor("out", true), n],
        result: None,
        locals: locals(&vec![Ty::I64; count]),
        arrays: vec![],
        body,
    }
}
