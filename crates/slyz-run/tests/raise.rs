//! Kernels raised to array programs mean what they meant: those of the corpus, and random ones that are made for it.
#![cfg(feature = "cpu")]

mod devices;
#[path = "../../slyz-cli/src/vex/machine.rs"]
mod machine;
mod raisable;
mod recorded;

use machine::OnDevice;
use recorded::{Program, Recorded, launches, program, programs, recorded, run};
use slyz_run::Device;
use slyz_sir::choices::Precision;
use slyz_sir::interp::program::run as interpret;
use slyz_sir::interp::{Array, Value};
use slyz_sir::launch::Template;
use slyz_sir::pass::bounds::{self, Facts};
use slyz_sir::raise::{Candidate, Numbers, Passed, Raised, Unraised};
use slyz_trials::trials;
use std::fmt::Write;
use std::sync::Arc;

/// The program of a launch whose accesses are inside.
fn raised(made: &Recorded, reassociates: bool) -> Result<Raised, Unraised> {
    let mut sizes = made.sizes.clone();
    let block = if made.free() { [1; 3] } else { made.block };
    if made.free() {
        sizes.copy_within(3..6, 0);
    }
    let facts = Facts::exact(&sizes, &made.scalars);
    let inside = bounds::proves(&made.template.shaped(block, false, false), &facts);
    let candidate = Candidate::new(&made.template)?;
    let numbers = Numbers { sizes: &sizes, scalars: &made.scalars };
    let raised = candidate.raise(block, Some(numbers), reassociates);
    if inside { raised } else { Err(Unraised::Does("it goes outside".to_string())) }
}

/// What is wrong with what the program leaves.
fn wrong(made: &Recorded, raised: &Raised, ulp: u32) -> Option<String> {
    let Raised { program, sizes, params, results, .. } = raised;
    let constants =
        made.template.kernel.memories.iter().position(|memory| memory.space == slyz_sir::kernel::Space::Constant);
    let value = |var: slyz_sir::size::SizeVar| sizes[var.0 as usize];
    let args = params.iter().zip(&program.body.params).map(|(passed, param)| {
        let shape = param.ty.shape().iter().map(|size| size.eval(&value).expect("a size that is known")).collect();
        match *passed {
            Passed::Scalar(place) => Value::Scalar(made.scalars[place]),
            Passed::Memory(place) => Value::Array(Array { shape, ..made.before[place].clone() }),
            Passed::Constant(place) => {
                Value::Array(Array { shape, ..made.before[constants.unwrap_or(0) + place].clone() })
            }
        }
    });
    let args: Vec<Value> = args.collect();
    let left = match interpret(program, sizes, &args) {
        Ok(left) => left,
        Err(error) => return Some(format!("{}: {error}\n{program}", made.from)),
    };
    let mut found = made.before.clone();
    for (&memory, left) in results.iter().zip(left) {
        if let Value::Array(left) = left {
            found[memory].data = left.data;
        }
    }
    made.compare(&found, ulp).map(|why| format!("{why}\n{program}"))
}

/// Interprets the programs of launches; how many there are.
fn all_mean_the_same(launches: &[Recorded]) -> usize {
    let mut count = 0;
    for made in launches {
        // In order every bit is the same; sums in another order may be rounded otherwise.
        for (reassociates, ulp) in [(false, 0), (true, 1 << 12)] {
            if let Ok(raised) = raised(made, reassociates) {
                count += usize::from(reassociates);
                if let Some(why) = wrong(made, &raised, ulp) {
                    panic!("{why}");
                }
            }
        }
    }
    count
}

#[test]
fn the_corpus() {
    let launches = recorded();
    let count = all_mean_the_same(&launches);
    assert!(
        2 * count > launches.len() || std::env::var("SLYZ_CORPUS").is_ok(),
        "{count} of {} launches",
        launches.len()
    );
}

/// What each kernel of the corpus is, in words.
#[test]
fn what_kernels_are() {
    let mut said = String::new();
    for program in programs() {
        for kernel in &program.kernels {
            let block = match kernel.template.axes() {
                0 | 1 => [16, 1, 1],
                2 => [16, 16, 1],
                _ => [8, 8, 4],
            };
            let raised = Candidate::new(&kernel.template).and_then(|candidate| candidate.raise(block, None, true));
            let what = match raised {
                Ok(raised) => format!("raised: {}", raised.summary()),
                Err(why) => format!("as written: {why}"),
            };
            let _ = writeln!(said, "{} {}: {what}", program.name, kernel.name);
        }
    }
    if std::env::var("SLYZ_CORPUS").is_ok() {
        return;
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/raisable/corpus.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &said).expect("the golden file can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == said, "{} differs; BLESS=1 rewrites it\n{said}", path.display());
}

/// The random program of a seed, its launches, and what the interpreter prints.
fn drawn(seed: u64) -> (Program, Vec<Recorded>) {
    let text = raisable::program(seed);
    let drawn = program(format!("seed {seed}"), text.clone());
    let (launches, told) = launches(&drawn);
    // The first time it is run to see what it prints.
    let printed = told.expect_err("nothing is expected yet");
    assert!(printed.contains("instead of"), "{printed}\n{text}");
    (drawn, launches)
}

#[test]
fn random_arrays() {
    let mut all = 0;
    let mut count = 0;
    for seed in trials("random_arrays", 400) {
        let (_, launches) = drawn(seed);
        all += launches.len();
        count += all_mean_the_same(&launches);
    }
    assert!(3 * count > all, "{count} of {all} launches");
}

/// The kernels with every rounding as it is written.
fn exact(mut program: Program, as_written: bool) -> Program {
    for kernel in &mut program.kernels {
        let mut template = Template::clone(&kernel.template);
        template.kernel.precision = Some(Precision::Exact);
        template.kernel.as_written = as_written;
        kernel.template = Arc::new(template);
    }
    program
}

fn on_device(name: &'static str, usual: u64, device: &Arc<dyn Device>) {
    for seed in trials(name, usual) {
        let (program, _) = drawn(seed);
        for as_written in [false, true] {
            let program = exact(program.clone(), as_written);
            let expected = run(&program, &mut slyz_lang::host::Interpreter::default());
            let found = run(&program, &mut OnDevice::new(device.clone()));
            if found.as_ref().is_err_and(|why| why.contains("which this adapter does not have")) {
                continue;
            }
            assert_eq!(found, expected, "{} as written: {as_written}\n{}", device.name(), raisable::program(seed));
        }
    }
}

#[test]
fn random_arrays_on_the_cpu() {
    on_device("random_arrays_on_the_cpu", 20, &(Arc::new(devices::narrow()) as Arc<dyn Device>));
}

#[test]
fn random_arrays_on_gpus() {
    for gpu in devices::gpus() {
        on_device("random_arrays_on_gpus", 8, &Arc::from(gpu.device));
    }
}

/// Kernels that look like array programs and are none, and why.
#[test]
fn what_stays_as_written() {
    let cases = [
        ("x[thread.x] = x[thread.x + 1]", "it reads `x`, which it writes, at another position than its own"),
        ("x[thread.x / 2] = 1.0", "`x` is not written at one position for each thread"),
        ("x[thread.x * thread.x] = 1.0", "`x` is not written at one position for each thread"),
        ("x[y[global.x] as i64] = 1.0", "`x` is not written at one position for each thread"),
        ("x[thread.x] = 1.0\n x[thread.x + 1] = 2.0", "`x` is not written at one position for each thread"),
        (
            "let! i = thread.x\n while i < x.len() { x[i] = 1.0\n i += 64 }",
            "`x` is not written at one position for each thread",
        ),
        ("atomic.add(x[thread.x], 1.0)", "it updates `x` atomically"),
    ];
    for (body, expected) in cases {
        let text = format!("graph fn k(x: Tensor<f32>!, y: Tensor<f32>) {{\n {body}\n}}\nprint(1)\n");
        let program = program(body.to_string(), text);
        // With numbers nothing is taken for granted.
        let numbers = Numbers { sizes: &[64, 1, 1, 64, 1, 1, 64, 64], scalars: &[] };
        let candidate = Candidate::new(&program.kernels[0].template);
        let why =
            candidate.and_then(|candidate| candidate.raise([1; 3], Some(numbers), true)).map(|raised| raised.program);
        assert_eq!(why.map_err(|why| why.to_string()), Err(expected.to_string()), "{body}");
    }
}

/// Tiles that are not what their threads load: some do not store, or several store to one place.
#[test]
fn tiles_that_stay_as_written() {
    let cases = [
        // Threads in front of the middle leave what was there, whatever that was.
        "if global.x >= 8 { tile[local.x] = y[global.x] }",
        "if y[global.x] > 0.0 { tile[local.x] = y[global.x] }",
        // Four threads store to one place, and eight places have no thread.
        "tile[local.x / 4] = y[global.x]",
        "tile[local.x % 4] = y[global.x]",
        "tile[0] = y[global.x]",
    ];
    for store in cases {
        let text = format!(
            "graph fn k(x: Tensor<f32>!, y: Tensor<f32>) {{
                threadgroup let! tile: [f32; 16]
                {store}
                threadgroup.barrier()
                x[global.x] = tile[15 - local.x]
            }}
            print(1)
            "
        );
        let (file, said) = slyz_lang::parse::parse(&text);
        let checked = slyz_lang::check::check(&file, slyz_lang::check::Dialect::Vex);
        // What races is refused before anybody could raise it.
        let errors = said.iter().chain(&checked.diagnostics).filter(|said| said.is_error()).count();
        let kernels = slyz_lang::host::kernels(&checked.program).expect("it is small");
        let Some(kernel) = kernels.first() else {
            assert!(errors > 0, "{store}");
            continue;
        };
        let numbers = Numbers { sizes: &[4, 1, 1, 64, 1, 1, 64, 64], scalars: &[] };
        let raised =
            Candidate::new(&kernel.template).and_then(|candidate| candidate.raise([16, 1, 1], Some(numbers), true));
        let why = raised.map(|raised| raised.program.to_string()).map_err(|why| why.to_string());
        let expected = Err("what threads share in `tile` is not a tile that each loads an element of".to_string());
        assert_eq!(why, expected, "{store}");
    }
}

/// What a loop both stores in a row and sums is computed once.
#[test]
fn what_turns_store_is_computed_once() {
    let text = "graph fn k(x: Tensor<f32>, out: Tensor<f32>!, m: i32) {
        let row = thread.x
        let! sum = 0.0
        for j in 0..m {
            let e = exp(x[row * m + j])
            out[row * m + j] = e
            sum += e
        }
        for j in 0..m { out[row * m + j] = out[row * m + j] / sum }
    }
    print(1)
    ";
    let program = program("a row".to_string(), text.to_string());
    for reassociates in [false, true] {
        let candidate = Candidate::new(&program.kernels[0].template);
        let raised = candidate.and_then(|candidate| candidate.raise([1; 3], None, reassociates));
        let text = raised.map(|raised| raised.program.to_string()).expect("an array program");
        assert_eq!(text.matches("= exp ").count(), 1, "{text}");
    }
}
