//! Random programs give the same results on the CPU and through Metal as in the interpreter, bit for bit except for which NaN.
//!
//! Programs whose result may differ within the table's slack (an operator with `ulp` above 0 on floats, a fold that
//! rounds) are left out: a difference in the last place can grow without bound through a cast or a comparison.

#![cfg(feature = "cpu")]

mod devices;
mod metal;
#[path = "../../slyz-sir/tests/random/mod.rs"]
mod random;

use slyz_run::Device;
use slyz_sir::code::{Body, Op};
use slyz_sir::graph::Graph;
use slyz_sir::interp::Value;
use slyz_sir::interp::graph::{InterpError, Options, run_with};
use slyz_sir::ops::Operator;
use slyz_sir::{lower, pass};

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

fn agrees_on(device: &dyn Device, case: &random::Case, what: &str) {
    let limits = Options { turns: Some(50_000), elements: Some(10_000) };
    let expected = match run_with(&case.graph, &case.sizes, &case.args, &limits) {
        Ok(values) => values,
        Err(InterpError::Budget(_)) => return,
        Err(error) => panic!("{error}"),
    };
    let show = || format!("{what}, sizes {:?}\n{}", case.sizes, case.graph);
    let found = devices::run(device, &case.graph, &case.sizes, &case.args);
    let found = found.unwrap_or_else(|error| panic!("{error}\n{}", show()));
    let expected: Vec<Value> = expected.iter().map(|value| Value::Array(devices::as_array(value))).collect();
    assert!(
        random::agree(&expected, &found),
        "the interpreter gives\n{expected:?}\nthe CPU gives\n{found:?}\n{}\n{}",
        show(),
        slyz_sir::text::print_plan(&lower::cpu::lower(&pass::optimize(&case.graph))),
    );
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
    let device = devices::narrow();
    for (seed, case) in cases() {
        agrees_on(&device, &case, &format!("seed {seed}"));
    }
}

#[test]
fn random_programs_in_wide_code() {
    let device = devices::wide();
    for (seed, case) in cases() {
        agrees_on(&device, &case, &format!("seed {seed}, wide"));
    }
}

/// No code goes outside of an array, whatever its width.
#[test]
fn random_programs_under_a_sanitizer() {
    let tests = ["random_programs", "random_programs_in_wide_code"];
    devices::sanitizer::again(&tests, &[("SLYZ_RANDOM_CASES", "30")]);
}

/// All programs that Metal can say are one file.
#[test]
fn random_programs_through_metal() {
    use slyz_sir::back::harness::{Program, ProgramError};
    let limits = Options { turns: Some(50_000), elements: Some(10_000) };
    let (mut graphs, mut kept) = (vec![], vec![]);
    for (seed, mut case) in cases() {
        case.graph.name = format!("random_{seed}");
        match Program::metal(std::slice::from_ref(&case.graph)) {
            Ok(_) => {}
            // No f64, or more results than Metal passes: the errors say so.
            Err(ProgramError::Emit(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        let Ok(expected) = run_with(&case.graph, &case.sizes, &case.args, &limits) else { continue };
        graphs.push(case.graph.clone());
        kept.push((seed, case, expected));
    }
    assert!(kept.len() > 10, "hardly any program is without f64");
    let program = Program::metal(&graphs).expect("programs that go one by one go together");
    let kernels = program.entries.iter().flat_map(|e| &e.kernels);
    let library = metal::build(&program.source, kernels);
    for ((seed, case, expected), entry) in kept.iter().zip(&program.entries) {
        let found = library.run(entry, &case.sizes, &case.args);
        let found = found.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.graph));
        let expected: Vec<Value> = expected.iter().map(|value| Value::Array(devices::as_array(value))).collect();
        assert!(
            random::agree(&expected, &found),
            "seed {seed}: the interpreter gives\n{expected:?}\nMetal gives\n{found:?}\n{:?}\n{}",
            case.sizes,
            case.graph
        );
    }
    println!("{} programs", kept.len());
}

#[test]
fn exactness_is_judged() {
    let graph = |op: &str| {
        let text = format!("graph g(%x: f32) -> f32 {{ %y: f32 = {op} %x  return %y }}");
        slyz_sir::text::parse_graph(&text).expect("a graph")
    };
    assert!(is_exact(&graph("sqrt")) && !is_exact(&graph("exp")));
}
