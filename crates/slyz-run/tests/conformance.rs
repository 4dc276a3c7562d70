//! Random programs give the same results on the CPU and through Metal as in the interpreter, bit for bit except for which NaN.
//!
//! Programs whose result may differ within the table's slack (an operator with `ulp` above 0 on floats, a fold that
//! rounds) are left out: a difference in the last place can grow without bound through a cast or a comparison.

#![cfg(feature = "cpu")]

mod devices;
#[path = "../../slyz-sir/tests/random/mod.rs"]
mod random;
mod shim;

use slyz_run::Device;
use slyz_sir::code::{Body, Op};
use slyz_sir::interp::program::{InterpError, Options, run_with};
use slyz_sir::interp::{Array, Value};
use slyz_sir::ops::Operator;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::{lower, pass};
use slyz_trials::trials;

/// Does the program give the same bits whatever the make of its mathematics and, unless `ordered`, the order of its folds?
fn is_exact(program: &Program, ordered: bool) -> bool {
    fn exact(body: &Body, ordered: bool) -> bool {
        body.stmts.iter().all(|stmt| {
            let float = stmt.binds.iter().any(|b| b.ty.elem().is_float());
            let here = match &stmt.op {
                Op::Apply(operator, _) => !float || operator.row().ulp == 0,
                Op::Fold { monoid, .. } | Op::Scan { monoid, .. } | Op::Scatter { monoid, .. } => {
                    ordered || !float || matches!(monoid.operator(), Some(Operator::Min | Operator::Max))
                }
                _ => true,
            };
            here && stmt.op.bodies().iter().all(|b| exact(b, ordered))
        })
    }
    program.functions.iter().all(|f| exact(&f.body, ordered)) && exact(&program.body, ordered)
}

/// Are its bits the same on every device?
fn is_exact_anywhere(program: &Program) -> bool {
    is_exact(program, false)
}

/// Does the book promise the interpreter's bits on the CPU?
fn is_promised(program: &Program) -> bool {
    is_exact(program, true) && lower::cpu::keeps_order(&pass::optimize(program))
}

/// How far the interpreter goes with a random program.
const LIMITS: Options =
    Options { turns: Some(50_000), loop_turns: None, elements: Some(10_000), refuse_denormals: false };

/// What the interpreter gives, as arrays; `None` where that takes too long.
fn expected(case: &random::Case) -> Option<Vec<Value>> {
    match run_with(&case.program, &case.sizes, &case.args, &LIMITS) {
        Ok(values) => Some(values),
        Err(InterpError::Budget(_)) => None,
        Err(error) => panic!("{error}\n{}", case.program),
    }
}

/// Does a denormal number come up while the program runs?
fn meets_denormals(case: &random::Case) -> bool {
    let limits = Options { refuse_denormals: true, ..LIMITS };
    let ran = run_with(&case.program, &case.sizes, &case.args, &limits);
    matches!(ran, Err(InterpError::Denormal { .. }))
}

/// Does the device take denormal numbers for zeros, as drivers may? Some do so in some operations only.
fn flushes_denormals(device: &dyn Device) -> bool {
    let text = "program denormals<N>(%x: f32[N]) -> (f32[N], bool[N]) {
        %half: f32 = const 0.5
        %zero: f32 = const 0.0
        %small: f32[N], %more: bool[N] = tabulate [N] |%i: i64| {
            %element: f32 = at %x[%i]
            %product: f32 = mul %element, %half
            %is_more: bool = gt %element, %zero
            yield %product, %is_more
        }
        return %small, %more }";
    let program = slyz_sir::text::parse_program(text).expect("a program");
    let array = |ty, bits: u64| Value::Array(Array { ty, shape: vec![5], data: vec![bits; 5] });
    let found = devices::run(device, &program, &[Some(5)], &[array(Ty::F32, 4)]);
    found.is_ok_and(|found| found != [array(Ty::F32, 2), array(Ty::Bool, 1)])
}

/// Holds what a device found against the interpreter. A program that fails is left as a file for the corpus.
fn agrees(device: &str, seed: u64, case: &random::Case, expected: &[Value], found: Result<Vec<Value>, String>) {
    let arrays: Vec<Value> = expected.iter().map(|value| Value::Array(devices::as_array(value))).collect();
    let wrong = match found {
        Ok(found) if random::agree(&arrays, &found) => return,
        Ok(found) => format!("the interpreter gives\n{arrays:?}\n{device} gives\n{found:?}"),
        Err(error) => format!("{device}: {error}"),
    };
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random_{seed}.sir"));
    let text = random::as_corpus_file(case, expected, &format!("Random program {seed}"));
    std::fs::write(&path, text).expect("the build directory is writable");
    panic!("{wrong}\nseed {seed}; `slyz test {}` repeats it, in tests/corpus it stays", path.display());
}

/// The program of a seed, if its bits are promised and it ends soon, with what it gives.
fn program(seed: u64, is_fit: fn(&Program) -> bool) -> Option<(random::Case, Vec<Value>)> {
    let case = random::case(seed, 10 + (seed % 30) as u32);
    let expected = is_fit(&case.program).then(|| expected(&case))??;
    Some((case, expected))
}

fn try_programs(name: &'static str, usual: u64, device: &dyn Device) {
    for seed in trials(name, usual) {
        let Some((case, expected)) = program(seed, is_promised) else { continue };
        let found = devices::run(device, &case.program, &case.sizes, &case.args);
        agrees(name, seed, &case, &expected, found);
    }
}

#[test]
fn random_programs() {
    try_programs("random_programs", 200, &devices::narrow());
}

#[test]
fn random_programs_in_wide_code() {
    try_programs("random_programs_in_wide_code", 200, &devices::wide());
}

/// On the adapter that tests use, which rounds as the table says.
#[test]
fn random_programs_on_gpus() {
    let gpus = devices::gpus();
    let flushes = gpus.iter().any(|gpu| flushes_denormals(&*gpu.device));
    for seed in trials("random_programs_on_gpus", 100) {
        let Some((case, expected)) = program(seed, is_exact_anywhere) else { continue };
        if flushes && meets_denormals(&case) {
            continue;
        }
        for gpu in &gpus {
            let found = devices::run(&*gpu.device, &case.program, &case.sizes, &case.args);
            match found {
                Err(error) if error.contains("which this adapter does not have") => {}
                found => agrees(gpu.name, seed, &case, &expected, found),
            }
        }
    }
}

/// No code goes outside of an array, whatever its width.
#[test]
fn random_programs_under_a_sanitizer() {
    let tests = ["random_programs", "random_programs_in_wide_code"];
    devices::sanitizer::again(&tests, &[("SLYZ_RANDOM_CASES", "12")]);
}

/// Programs that are one file for Metal.
const TOGETHER: usize = 150;

#[test]
fn random_programs_through_metal() {
    let mut seeds = trials("random_programs_through_metal", TOGETHER as u64);
    loop {
        let seeds: Vec<u64> = seeds.by_ref().take(TOGETHER).collect();
        if seeds.is_empty() {
            break;
        }
        through_metal(&seeds);
    }
}

fn through_metal(seeds: &[u64]) {
    use slyz_sir::back::harness::{Project, ProjectError};
    let mut programs = vec![];
    let mut kept = vec![];
    for &seed in seeds {
        let Some((mut case, expected)) = program(seed, is_exact_anywhere) else { continue };
        case.program.name = format!("random_{seed}");
        match Project::metal(std::slice::from_ref(&case.program)) {
            Ok(_) => {}
            // No f64, or more results than Metal passes: the errors say so.
            Err(ProjectError::Emit(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        programs.push(case.program.clone());
        kept.push((seed, case, expected));
    }
    assert!(kept.len() > seeds.len() / 20, "hardly any program is without f64");
    let project = Project::metal(&programs).expect("programs that go one by one go together");
    let kernels = project.entries.iter().flat_map(|e| &e.kernels);
    let Some(library) = shim::build(shim::Language::Metal, &project.source, kernels) else { return };
    for ((seed, case, expected), entry) in kept.iter().zip(&project.entries) {
        let found = library.run(entry, &case.sizes, &case.args).map_err(|error| error.to_string());
        agrees("Metal", *seed, case, expected, found);
    }
    println!("{} programs", kept.len());
}

#[test]
fn exactness_is_judged() {
    let program = |op: &str| {
        let text = format!("program g(%x: f32) -> f32 {{ %y: f32 = {op} %x  return %y }}");
        slyz_sir::text::parse_program(&text).expect("a program")
    };
    assert!(is_exact(&program("sqrt"), false) && !is_exact(&program("exp"), true));
}
