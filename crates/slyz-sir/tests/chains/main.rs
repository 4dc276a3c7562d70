//! Long programs: what is compiled of them, and how much of it.
//!
//! Nothing here takes time in turns: a stage that grows faster than its program, or a walk that goes one frame deeper with each
//! operation, is felt by whoever runs the tests.

mod programs;

use programs::{CHAINS, Chain};
use slyz_sir::code::Body;
use slyz_sir::interp::program::run;
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Plan, Step};
use slyz_sir::lower::gpu::Machine;
use slyz_sir::pass::{fuse, optimize};
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{back, explain, lower, verify};

fn chain(name: &str, operations: usize) -> Program {
    let chain = CHAINS.iter().find(|chain| chain.name == name).expect("a kind of chain");
    (chain.make)(operations).expect("a program")
}

fn launches(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| matches!(step, Step::Launch { .. })).count()
}

fn statements(body: &Body) -> usize {
    body.stmts.iter().map(|stmt| 1 + stmt.op.bodies().into_iter().map(statements).sum::<usize>()).sum()
}

/// Optimises, lowers and writes a program; gives the plan for the CPU.
fn compiled(program: &Program) -> Plan {
    verify::program(program).expect("what is built is right");
    let optimised = optimize(program);
    verify::program(&optimised).expect("what is optimised is right");
    let plan = lower::cpu::lower(&optimised);
    verify::plan(&plan).expect("what is lowered is right");
    back::c::emit(&plan, false).expect("the plan is for a CPU");
    let on_gpu = lower::gpu::lower(&optimised, &Machine::metal());
    verify::plan(&on_gpu).expect("what is lowered for a GPU is right");
    assert!(launches(&on_gpu) <= launches(&plan) + 1);
    plan
}

/// Chains of maps become kernels of about the longest length, whatever they share and however often they turn.
#[test]
fn maps_fuse_into_few_long_kernels() {
    for (name, operations) in
        [("affine", 10_000), ("shared", 4000), ("zipped", 2000), ("parallel", 3000), ("turned", 4000)]
    {
        let plan = compiled(&chain(name, operations));
        // A sum of arrays has a read beside every operation, of matrices that turn every second is one.
        let about = operations / fuse::LONGEST as usize;
        let found = launches(&plan);
        assert!((about / 2..=2 * about + 1).contains(&found), "{name}: {found} launches, not about {about}");
        let longest = plan.kernels.iter().map(|kernel| statements(&kernel.body)).max().unwrap_or(0);
        assert!(longest < 3 * fuse::LONGEST as usize, "{name}: a kernel of {longest} statements");
    }
}

/// What cannot be one loop is as many as it must be, and no statement is there a second time without need.
#[test]
fn folds_scalars_and_many_results_are_compiled_too() {
    for (name, operations, most) in [
        ("means", 150, 200),
        ("totals", 400, 500),
        ("rows", 150, 1),
        ("stencil", 200, 200),
        ("deep", 10_000, 1),
        ("scalars", 5000, 100),
        ("wide", 1000, 35),
        ("sums", 1000, 35),
    ] {
        let plan = compiled(&chain(name, operations));
        let found = launches(&plan);
        assert!(found <= most, "{name}: {found} launches");
        let all: usize = plan.kernels.iter().map(|kernel| statements(&kernel.body)).sum();
        assert!(all <= 200 * operations, "{name}: {all} statements for {operations} operations");
    }
}

#[test]
fn explanations_of_long_programs_say_where_kernels_end() {
    let program = chain("affine", 3000);
    let optimised = optimize(&program);
    let plan = lower::cpu::lower(&optimised);
    let text = explain::explain(&program, &optimised, &plan).to_string();
    assert!(text.contains("what reads it would grow past 1000 additions"), "{text}");
    assert!(text.lines().count() < 100, "{text}");
}

/// A program of each kind that is long enough to be cut means what it meant.
#[test]
fn long_programs_mean_the_same() {
    for Chain { name, .. } in CHAINS {
        // Folds are not moved into each other, and need not be many.
        let few = ["means", "totals", "rows", "stencil", "sums"].contains(name);
        let program = chain(name, if few { 200 } else { 1200 });
        let elements = |ty: Ty, shape: Vec<u64>, first: u64| {
            let data =
                (0..shape.iter().product()).map(|k| Scalar::from_int(ty, (7 * k + first) as i128).bits).collect();
            Value::Array(Array { ty, shape, data })
        };
        let args: Vec<Value> = program
            .body
            .params
            .iter()
            .zip(3..)
            .map(|(param, k)| match param.ty.shape() {
                [] => Value::Scalar(Scalar::from_int(param.ty.elem(), k as i128)),
                shape => elements(param.ty.elem(), vec![3; shape.len()], k),
            })
            .collect();
        let before = run(&program, &[Some(3)], &args).expect("it runs");
        let after = run(&optimize(&program), &[Some(3)], &args).expect("it runs");
        assert!(before == after, "{name}");
    }
}
