//! Programs that only a tree can say: limits, names, and what is not checked.

use crate::reference::Store;
use crate::run::{launched, lowered};
use crate::tree::*;
use slyz_lang::lower::{Excess, TooLarge, lower};
use slyz_lang::typed::*;
use slyz_sir::types::{Scalar, Ty};

fn program(functions: Vec<Function>) -> (Program, FunctionId) {
    let last = FunctionId(functions.len() as u32 - 1);
    (Program { functions }, last)
}

fn tensor_of(name: &str, data: &[i64]) -> Store {
    let data: Vec<Scalar> = data.iter().map(|&x| Scalar::i64(x)).collect();
    Store { name: name.into(), ty: Ty::I64, shape: vec![data.len() as u64], data }
}

/// `out` after one thread, with `n` as given.
fn out(program: &Program, kernel: FunctionId, n: i64) -> Vec<i64> {
    let mut tensors = [tensor_of("a", &[5, 6, 7]), tensor_of("out", &[0, 0, 0])];
    let outside = launched(&lowered(program, kernel), ([1; 3], [1; 3]), &mut tensors, &[Scalar::i64(n)]);
    assert_eq!(outside, None);
    tensors[1].data.iter().map(|x| x.as_int() as i64).collect()
}

/// `fn NAME(x: i64): i64`, or without a result, over the tensor `t`.
fn helper(name: &str, result: Option<Ty>, body: Vec<Stmt>) -> Function {
    let x = Param { name: "x".into(), kind: ParamKind::Scalar(LocalId(0), Ty::I64) };
    let params = vec![tensor("t", true), x];
    Function { name: name.into(), launches: false, params, result, ..kernel(body, 1) }
}

fn call(function: u32, memory: u32, x: Expr) -> Expr {
    let args = vec![Arg::Memory(MemoryRef::Param(memory)), Arg::Value(x)];
    made(Ty::Bool, ExprKind::Call(FunctionId(function), args))
}

#[test]
fn hundreds_of_early_returns_do_not_nest() {
    let guard = |k: i64| when(eq(var(0), int(k)), vec![store(1, int(0), int(10 * k)), Stmt::Return(None)]);
    let mut body: Vec<Stmt> = (1..500).map(guard).collect();
    body.push(store(1, int(1), int(-1)));
    let (program, id) = program(vec![kernel(body, 1)]);
    assert_eq!(out(&program, id, 321), [3210, 0, 0]);
    assert_eq!(out(&program, id, 1), [10, 0, 0]);
    assert_eq!(out(&program, id, 0), [0, -1, 0]);
}

#[test]
fn calls_that_double_are_too_large() {
    let mut functions = vec![helper("leaf", None, vec![store(0, var(0), int(1))])];
    for k in 1..=30u32 {
        let twice = vec![Stmt::Expr(call(k - 1, 0, var(0))), Stmt::Expr(call(k - 1, 0, var(0)))];
        functions.push(helper(&format!("level{k}"), None, twice));
    }
    functions.push(kernel(vec![Stmt::Expr(call(30, 1, var(0)))], 1));
    let (program, id) = program(functions);
    let error = lower(&program, id).unwrap_err();
    assert_eq!((error.function.as_str(), error.what), ("leaf", Excess::Statements));
    assert!(error.to_string().contains("more than 200000 statements; call"), "{error}");
}

#[test]
fn calls_that_nest_too_deep_are_too_large() {
    let mut functions = vec![helper("leaf", None, vec![store(0, var(0), int(1))])];
    functions.extend((1..=500).map(|k| helper(&format!("f{k}"), None, vec![Stmt::Expr(call(k - 1, 0, var(0)))])));
    functions.push(kernel(vec![Stmt::Expr(call(500, 1, var(0)))], 1));
    let (program, id) = program(functions);
    assert_eq!(lower(&program, id).unwrap_err().what, Excess::Nesting);
}

#[test]
fn loops_that_nest_too_deep_are_too_large() {
    let nest = |depth: u32| {
        let body = vec![store(1, int(0), var(0))];
        (1..=depth).fold(body, |body, k| vec![count(k, 0, int(1), body)])
    };
    let (few, id) = program(vec![kernel(nest(60), 61)]);
    assert_eq!(out(&few, id, 8), [8, 0, 0]);
    let (many, id) = program(vec![kernel(nest(200), 201)]);
    assert_eq!(lower(&many, id).unwrap_err().what, Excess::Nesting);
}

#[test]
fn names_are_spelled_and_differ() {
    let mut function = kernel(vec![store(1, int(0), var(0))], 1);
    function.name = "größe".into();
    function.params[0].name = "out".into();
    let array = |name: &str| Array { name: name.into(), elem: Ty::I64, shape: vec![2], home: Home::Threadgroup };
    function.arrays = vec![array("out"), array("żółw"), array("load")];
    let (program, id) = program(vec![function]);
    let kernel = lowered(&program, id).kernel;
    assert_eq!(kernel.name, "gr__e");
    let names: Vec<&str> = kernel.memories.iter().map(|memory| &memory.name[..]).collect();
    assert_eq!(names, ["out", "out_2", "out_3", "___w", "load"]);
    let sizes: Vec<&str> = kernel.sizes[6..].iter().map(|size| &size.name[..]).collect();
    assert_eq!(sizes, ["out_len", "out_2_len"]);
}

#[test]
fn the_kernel_decides_whether_all_it_calls_is_checked() {
    let write = || helper("write", None, vec![store(0, var(0), int(1))]);
    let root = || kernel(vec![Stmt::Expr(call(0, 1, load(0, var(0))))], 1);
    let checks = |functions: Vec<Function>| {
        let (program, id) = program(functions);
        lowered(&program, id).kernel.to_string().matches("check").count()
    };
    assert_eq!(checks(vec![write(), root()]), 2);
    assert_eq!(checks(vec![Function { unchecked: true, ..write() }, root()]), 2);
    assert_eq!(checks(vec![write(), Function { unchecked: true, ..root() }]), 0);
}

#[test]
fn an_exit_in_a_value_leaves_before_what_follows() {
    // out[0] = 1 + (if n < 3 { out[1] = 9; return } else { a[n - 3] })
    let value = made(
        Ty::I64,
        ExprKind::If {
            cond: lt(var(0), int(3)).into(),
            then: (vec![store(1, int(1), int(9)), Stmt::Return(None)], int(0).into()),
            otherwise: (vec![], load(0, add(var(0), int(-3))).into()),
        },
    );
    let (program, id) = program(vec![kernel(vec![store(1, int(0), add(int(1), value))], 1)]);
    assert_eq!(out(&program, id, 0), [0, 9, 0]);
    assert_eq!(out(&program, id, 4), [7, 0, 0]);
}

#[test]
fn trees_as_deep_as_the_checker_allows_fit_on_the_stack() {
    // Operators and loads in each other.
    let deep = (0..500).fold(var(0), |deep, k| if k % 2 == 0 { add(int(1), deep) } else { load(0, deep) });
    let (loads, id) = program(vec![kernel(vec![store(1, int(0), deep)], 1)]);
    assert!(lower(&loads, id).is_ok());
    // The same in functions that call each other in the middle of it.
    let sum = |inner: Expr| (0..400).fold(inner, |deep, _| add(int(1), deep));
    let called = |k: u32| Expr { ty: Ty::I64, ..call(k, 0, var(0)) };
    let result = |inner: Expr| vec![store(0, int(0), int(1)), Stmt::Return(Some(sum(inner)))];
    let mut functions = vec![helper("f0", Some(Ty::I64), result(var(0)))];
    functions.extend((1..9).map(|k| helper(&format!("f{k}"), Some(Ty::I64), result(called(k - 1)))));
    functions.push(kernel(vec![Stmt::Expr(Expr { ty: Ty::I64, ..call(8, 1, var(0)) })], 1));
    let (chain, id) = program(functions);
    assert_eq!(lower(&chain, id).map(drop), Err(TooLarge { function: "f6".into(), what: Excess::Nesting }));
    // Values of branches in each other, with statements in front of them and without.
    for statements in [false, true] {
        let front = if statements { vec![store(1, int(1), var(0))] } else { vec![] };
        let side = |value: Expr| (front.clone(), Box::new(value));
        let branch = |deep: Expr, k: i64| {
            let (then, otherwise) = (side(deep), side(int(k)));
            made(Ty::I64, ExprKind::If { cond: lt(var(0), int(k)).into(), then, otherwise })
        };
        for (depth, fits) in [(100, true), (500, false)] {
            let deep = (0..depth).fold(var(0), branch);
            let (branches, id) = program(vec![kernel(vec![store(1, int(0), deep)], 1)]);
            match lower(&branches, id) {
                Ok(_) => assert!(fits),
                Err(error) => assert_eq!((error.what, fits), (Excess::Nesting, false)),
            }
        }
    }
}
