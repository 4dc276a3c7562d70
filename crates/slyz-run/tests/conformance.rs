//! Random programs give the same results on the CPU as in the interpreter, bit for bit except for which NaN.
//!
//! Programs whose result may differ within the table's slack (an operator with `ulp` above 0 on floats, a fold that
//! rounds) are left out: a difference in the last place can grow without bound through a cast or a comparison.

#[path = "../../slyz-sir/tests/random/mod.rs"]
mod random;

use slyz_run::cpu::{Backend, Cpu, CpuConfig};
use slyz_run::{Argument, ArrayData, Device, Output};
use slyz_sir::code::{Body, Op};
use slyz_sir::graph::Graph;
use slyz_sir::interp::graph::{InterpError, Options, run_with};
use slyz_sir::interp::{Array, Value};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{back, lower, pass};

/// Does the program give the same bits whatever the order of its folds and the make of its mathematics?
fn is_exact(graph: &Graph) -> bool {
    fn exact(body: &Body) -> bool {
        body.stmts.iter().all(|stmt| {
            let float = stmt.binds.iter().any(|b| b.ty.elem().is_float());
            let here = match &stmt.op {
                Op::Apply(operator, _) => !float || operator.row().ulp == 0,
                Op::Fold { monoid, .. } => !float || matches!(monoid.operator(), Some(Operator::Min | Operator::Max)),
                _ => true,
            };
            here && stmt.op.bodies().iter().all(|b| exact(b))
        })
    }
    graph.functions.iter().all(|f| exact(&f.body)) && exact(&graph.body)
}

fn bytes(array: &Array) -> Vec<u8> {
    let width = array.ty.bytes();
    array.data.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
}

fn value(output: &Output) -> Value {
    let width = output.ty.bytes();
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | b as u64);
    let data: Vec<u64> = output.data.bytes().chunks(width).map(word).collect();
    Value::Array(Array { ty: output.ty, shape: output.shape.clone(), data })
}

/// A scalar is an array of no axes on a device.
fn as_array(value: &Value) -> Value {
    match value {
        Value::Scalar(Scalar { ty, bits }) => Value::Array(Array { ty: *ty, shape: vec![], data: vec![*bits] }),
        Value::Array(array) => Value::Array(array.clone()),
    }
}

fn agrees_on(device: &dyn Device, case: &random::Case, what: &str) {
    let limits = Options { turns: Some(50_000), elements: Some(10_000) };
    let expected = match run_with(&case.graph, &case.sizes, &case.args, &limits) {
        Ok(values) => values,
        Err(InterpError::Budget(_)) => return,
        Err(error) => panic!("{error}"),
    };
    let data: Vec<Vec<u8>> =
        case.args.iter().map(|a| if let Value::Array(a) = a { bytes(a) } else { vec![] }).collect();
    let args: Vec<Argument> = case
        .args
        .iter()
        .zip(&data)
        .map(|(arg, data)| match arg {
            Value::Scalar(scalar) => Argument::Scalar(*scalar),
            Value::Array(a) => Argument::Array { ty: a.ty, shape: a.shape.clone(), data: ArrayData::Host(data) },
        })
        .collect();
    let executable = device.compile(&case.graph).unwrap_or_else(|error| panic!("{what}: {error}\n{}", case.graph));
    let results = executable.run(&case.sizes, &args).unwrap_or_else(|error| panic!("{what}: {error}\n{}", case.graph));
    let results: Vec<Value> = results.iter().map(value).collect();
    let expected: Vec<Value> = expected.iter().map(as_array).collect();
    assert!(
        random::agree(&expected, &results),
        "{what}: the interpreter gives\n{expected:?}\nthe CPU gives\n{results:?}\nsizes {:?}\n{}\n{}",
        case.sizes,
        case.graph,
        slyz_sir::text::print_plan(executable.plan().expect("a plan")),
    );
}

fn config() -> CpuConfig {
    CpuConfig { cache_dir: None, ..CpuConfig::from_env() }
}

fn cases() -> impl Iterator<Item = (u64, random::Case)> {
    let count = std::env::var("SLYZ_RANDOM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let first: u64 = std::env::var("SLYZ_RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    (first..)
        .map(|seed| (seed, random::case(seed, 10 + (seed % 30) as u32)))
        .filter(|(_, c)| is_exact(&c.graph))
        .take(count)
}

#[test]
fn random_programs() {
    let device = Cpu::new(config());
    for (seed, case) in cases() {
        agrees_on(&device, &case, &format!("seed {seed}"));
    }
}

#[test]
fn random_programs_in_wide_code() {
    let lower = |graph: &Graph| lower::cpu::lower(&pass::optimize(graph));
    let emit = |plan: &slyz_sir::kernel::Plan, _| back::c::emit(plan, true);
    // SAFETY: the real backend, which keeps the promise of `Cpu::new`; wide code is right for every size.
    let device = unsafe { Cpu::with_backend(config(), Backend { lower, emit }) };
    for (seed, case) in cases() {
        agrees_on(&device, &case, &format!("seed {seed}, wide"));
    }
}

#[test]
fn exactness_is_judged() {
    assert!(Operator::Exp.row().ulp > 0 && Operator::Add.row().ulp == 0 && Ty::F32.is_float());
}
