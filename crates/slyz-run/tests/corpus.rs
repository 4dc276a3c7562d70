//! The corpus: every case of every file in `tests/corpus`, on the interpreter and on every way to run it.
//!
//! A case of a program runs in the interpreter as it is, in the interpreter after the passes, as the plan of the CPU
//! in the interpreter of kernels, as plans for GPUs of several kinds there, and on the CPU with both kinds of code. A case of a kernel runs in the interpreter
//! of kernels; if it says how the kernel is launched, on every device. With the feature `wgpu` the wgpu device is a road too, and a machine without an adapter fails. `SLYZ_ADAPTER`
//! names another adapter; what it lacks may be an error that says so. Roads that are much alike take half of the programs each.
//! All must give what the file expects. The text of every file also makes a round trip.
#![cfg(feature = "cpu")]

mod devices;

use slyz_run::{Device, Interpreter};
use slyz_sir::interp::kernel::{LaunchOptions, launch, run_plan, run_plan_with};
use slyz_sir::interp::{self, Array, Value};
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::gpu::Machine;
use slyz_sir::pass::spread::Subgroup;
use slyz_sir::program::{Module, Program};
use slyz_sir::text::{Case, Subject, parse_file, parse_module, print_module};
use slyz_sir::threads::Threads;
use slyz_sir::{lower, pass, verify};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program that is compiled: takes its sizes and arguments.
type Ready<'a> = Box<dyn Fn(&[Option<u64>], &[Value]) -> Result<Vec<Value>, String> + 'a>;

/// Compiles a program, once for all its cases. It comes as it is, and after the passes.
type Prepare<'a> = dyn for<'p> Fn(&'p Program, &'p Program) -> Result<Ready<'p>, String> + Sync + 'a;

/// What a GPU without optional features may say.
const LACKING: &str = "which this adapter does not have";

/// Where a case is run, and how.
struct Road<'a> {
    name: &'static str,
    /// Features of wgpu that the device does not have. Cases may fail for the want of them.
    lacks: &'a [&'static str],
    prepare: Box<Prepare<'a>>,
    /// Cases with a larger size take too long here.
    most: u64,
    /// Where kernels are launched.
    device: Option<&'a dyn Device>,
    share: Share,
}

/// What a road takes of the corpus. `SLYZ_CASES=all` and `SLYZ_CASES=few` say it for every road.
#[derive(Clone, Copy, PartialEq)]
enum Share {
    All,
    /// One of two programs, those whose number is even or odd: roads that are much alike share them.
    Half(usize),
    /// Two cases of a file: it compiles slowly.
    Few,
}

/// Cases of a file on roads that take few.
const FEW: usize = 2;

/// Programs whose cases such roads do always: threads meet deep inside of loops, which pocl gets wrong where it is not told to be careful.
const ALWAYS: [&str; 2] = ["eliminate", "in_rows"];

/// What the interpreter takes, and what the interpreter of kernels does: lines longer than chunks and tiles, which are short where
/// blocks are.
const LARGE: u64 = 1_000_000;
const SOME: u64 = 20_000;
const SOME_OF_FEW: u64 = 3_000;
/// Blocks of fewer threads have few.
const FEW_THREADS: u32 = 64;

fn roads<'a>(narrow: &'a dyn Device, wide: &'a dyn Device, gpus: &'a [devices::Gpu]) -> Vec<Road<'a>> {
    fn text(error: impl ToString) -> String {
        error.to_string()
    }
    fn interpreted<'p>(plan: Plan) -> Result<Ready<'p>, String> {
        verify::plan(&plan).map_err(text)?;
        Ok(Box::new(move |sizes, args| run_plan(&plan, sizes, args).map_err(text)))
    }
    fn on<'p>(device: &dyn Device, program: &'p Program) -> Result<Ready<'p>, String> {
        let compiled = devices::compile(device, program)?;
        Ok(Box::new(move |sizes, args| compiled.run(sizes, args)))
    }
    let gpu = |name: &'static str, share: Share, machine: Machine| Road {
        name,
        lacks: &[],
        most: if machine.max_threads < FEW_THREADS { SOME_OF_FEW } else { SOME },
        prepare: Box::new(move |_, optimised| {
            let plan = lower::gpu::lower(optimised, &machine);
            verify::plan(&plan).map_err(text)?;
            let subgroup_size = machine.subgroup.map_or(1, |s| s.size);
            let options = LaunchOptions { subgroup_size, ..LaunchOptions::default() };
            Ok(Box::new(move |sizes, args| run_plan_with(&plan, sizes, args, &options).map_err(text)))
        }),
        device: None,
        share,
    };
    let small = |max_threads: u32, subgroup: Option<u32>| Machine {
        max_threads,
        subgroup: subgroup.map(|size| Subgroup { size, bits: 64, float_extremes: false, reduces_few: false }),
        shared_bytes: 1 << 10,
        max_blocks: [7, 3, 2],
        atomic_bits: 64,
        vector_bytes: 16,
        fused: true,
        splits: false,
        progresses: false,
        has_products: false,
        multiplies: false,
        busy_blocks: 2_048,
        choice: lower::Choice::USUAL,
        ..Machine::metal()
    };
    let mut roads = vec![
        Road {
            name: "interpreter",
            lacks: &[],
            most: LARGE,
            prepare: Box::new(|program, _| {
                Ok(Box::new(move |sizes, args| interp::program::run(program, sizes, args).map_err(text)))
            }),
            device: Some(&Interpreter),
            share: Share::All,
        },
        Road {
            name: "interpreter, optimised",
            lacks: &[],
            most: SOME,
            prepare: Box::new(|_, optimised| {
                Ok(Box::new(move |sizes, args| interp::program::run(optimised, sizes, args).map_err(text)))
            }),
            device: None,
            share: Share::All,
        },
        Road {
            name: "kernel interpreter, plan for the CPU",
            lacks: &[],
            most: SOME,
            prepare: Box::new(|_, optimised| interpreted(lower::cpu::lower(optimised))),
            device: None,
            share: Share::All,
        },
        Road {
            name: "kernel interpreter, plan for the CPU of a program from outside",
            lacks: &[],
            most: SOME,
            prepare: Box::new(|program, _| {
                interpreted(lower::cpu::lower(&pass::optimize(&pass::confine::program(program.clone()))))
            }),
            device: None,
            share: Share::All,
        },
        gpu("kernel interpreter, plan for Metal", Share::All, Machine::metal()),
        gpu("kernel interpreter, plan for CUDA", Share::Half(0), Machine::cuda()),
        gpu("kernel interpreter, plan for WebGPU", Share::Half(1), Machine::webgpu()),
        gpu("kernel interpreter, GPU with blocks of 16 and subgroups of 32", Share::Half(0), small(16, Some(32))),
        gpu("kernel interpreter, GPU with blocks of 24 and subgroups of 8", Share::Half(1), small(24, Some(8))),
        gpu("kernel interpreter, GPU with blocks of 100 and subgroups of 4", Share::Half(1), small(100, Some(4))),
        gpu("kernel interpreter, GPU with blocks of 12 and no subgroups", Share::Half(0), small(12, None)),
        gpu("kernel interpreter, GPU with blocks of one thread", Share::All, small(1, None)),
        Road {
            name: "cpu",
            lacks: &[],
            most: u64::MAX,
            prepare: Box::new(|program, _| on(narrow, program)),
            device: Some(narrow),
            share: Share::All,
        },
        Road {
            name: "cpu, wide code",
            lacks: &[],
            most: u64::MAX,
            prepare: Box::new(|program, _| on(wide, program)),
            device: Some(wide),
            share: Share::Half(0),
        },
    ];
    // `SLYZ_ROAD=name` keeps the roads with that in their name. By its whole name OpenCL has all cases.
    let part = std::env::var("SLYZ_ROAD").unwrap_or_default();
    roads.extend(gpus.iter().map(|gpu| Road {
        name: gpu.name,
        lacks: &gpu.lacks,
        // What many elements take besides is asked of the first.
        most: if gpu.name == devices::PLAIN { LARGE } else { u64::MAX },
        prepare: Box::new(|program, _| on(&*gpu.device, program)),
        device: Some(&*gpu.device),
        share: match gpu.name {
            devices::OPENCL if part != devices::OPENCL => Share::Few,
            devices::PLAIN => Share::Half(1),
            _ => Share::All,
        },
    }));
    roads.retain(|road| road.name.contains(&part));
    let said = match std::env::var("SLYZ_CASES").as_deref() {
        Ok("all") => Some(Share::All),
        Ok("few") => Some(Share::Few),
        _ => None,
    };
    roads.iter_mut().for_each(|road| road.share = said.unwrap_or(road.share));
    roads
}

/// What is wrong with a case of a kernel, one line per road or result.
fn check_kernel_case(module: &Module, name: &str, case: &Case, roads: &[Road]) -> Vec<String> {
    match module.kernels.iter().find(|k| k.name == name) {
        Some(kernel) if case.launch.is_some() => check_launch(kernel, case, roads),
        Some(kernel) => {
            // From outside it gets checks, and means the same.
            let confined = pass::confine::kernel(kernel.clone());
            [check_kernel(kernel, case), check_kernel(&confined, case)].concat()
        }
        None => vec![format!("there is no kernel {name}")],
    }
}

/// A case of a program, with all its sizes.
struct Wanted<'a> {
    case: &'a Case,
    sizes: Vec<Option<u64>>,
    /// Roads that take few take it too.
    is_of_few: bool,
}

/// What is wrong with the cases of a program, which has a number among all, each with its case.
fn check_program<'a>(
    program: &Program,
    number: usize,
    cases: &[(&'a Case, bool)],
    roads: &[Road],
) -> Vec<(&'a Case, String)> {
    let mut wrong = vec![];
    let mut wanted = vec![];
    for (case, is_of_few) in cases {
        let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let given: Vec<Option<u64>> = program.sizes.iter().map(|decl| value(&decl.name)).collect();
        match interp::program::solve_sizes(program, &given, &case.args) {
            Ok(sizes) => wanted.push(Wanted { case, sizes, is_of_few: *is_of_few }),
            Err(error) => wrong.push((*case, error.to_string())),
        }
    }
    let optimised = pass::optimize(program);
    for road in roads {
        let takes = |wanted: &&Wanted| {
            let largest = wanted.sizes.iter().flatten().max().copied().unwrap_or(0);
            let is_taken = match road.share {
                Share::All => true,
                Share::Half(turn) => number % 2 == turn,
                Share::Few => wanted.is_of_few,
            };
            largest <= road.most && is_taken
        };
        let mut cases = wanted.iter().filter(takes).peekable();
        if cases.peek().is_none() {
            continue;
        }
        let ready = (road.prepare)(program, &optimised);
        for Wanted { case, sizes, .. } in cases {
            let found = ready.as_ref().map_err(String::clone).and_then(|ready| ready(sizes, &case.args));
            wrong.extend(check_results(road, case, found).into_iter().map(|text| (*case, text)));
        }
    }
    wrong
}

/// What is wrong with the results of a case.
fn check_results(road: &Road, case: &Case, found: Result<Vec<Value>, String>) -> Vec<String> {
    match found {
        // What a poor GPU lacks it must name.
        Err(error) if road.lacks.iter().any(|lack| error.contains(&format!(" {lack})"))) => vec![],
        Err(error) => vec![format!("{}: {error}", road.name)],
        Ok(found) if found.len() != case.expect.len() => {
            vec![format!("{}: {} results, expected {}", road.name, found.len(), case.expect.len())]
        }
        Ok(found) => {
            let pairs = case.expect.iter().zip(&found).enumerate();
            let differences = pairs.filter_map(|(k, (expect, found))| {
                let text = devices::difference(&expect.value, found, expect.ulp)?;
                Some(format!("{}: result {k}, {text}", road.name))
            });
            differences.collect()
        }
    }
}

/// Launches a kernel wherever it can be, checked and, if the case does not fail, unchecked.
fn check_launch(kernel: &Kernel, case: &Case, roads: &[Road]) -> Vec<String> {
    let threads = case.launch.unwrap_or(Threads::Inferred);
    let mut wrong = vec![];
    for (road, device) in roads.iter().filter_map(|road| Some((road, road.device?))) {
        for unchecked in [false, true] {
            if unchecked && case.fails.is_some() {
                continue;
            }
            let (done, after) = devices::launch(device, kernel, threads, &case.args, unchecked);
            match (done, &case.fails) {
                (Err(error), _) if !road.lacks.is_empty() && error.to_string().contains(LACKING) => continue,
                (Ok(()), None) => {}
                (Err(error), Some(part)) if error.to_string().contains(part) => {}
                (Err(error), _) => wrong.push(format!("{}: {error}", road.name)),
                (Ok(()), Some(part)) => wrong.push(format!("{}: no error, expected \"{part}\"", road.name)),
            }
            for expect in &case.expect {
                let memory = expect.memory.as_deref().unwrap_or_default();
                let found = after.iter().find(|(name, _)| name == memory).map(|(_, array)| Value::Array(array.clone()));
                let difference = match found {
                    Some(found) => devices::difference(&expect.value, &found, expect.ulp),
                    None => Some("is not passed".into()),
                };
                wrong.extend(difference.map(|text| format!("{}: {memory}, {text}", road.name)));
            }
        }
    }
    wrong
}

fn check_kernel(kernel: &Kernel, case: &Case) -> Vec<String> {
    let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let sizes: Option<Vec<u64>> = kernel.sizes.iter().map(|decl| value(&decl.name)).collect();
    let Some(sizes) = sizes else { return vec!["a size has no value".into()] };
    // Memories are in front, as arrays even where they have no axes.
    let (mut memories, mut scalars) = (vec![], vec![]);
    for arg in &case.args {
        match arg {
            Value::Array(array) => memories.push(array.clone()),
            Value::Scalar(scalar) => scalars.push(*scalar),
        }
    }
    let names: Vec<&str> = kernel.memories.iter().filter(|m| is_bound(m.space)).map(|m| &m.name[..]).collect();
    if let Err(error) = launch(kernel, &sizes, &mut memories, &scalars, &LaunchOptions::default()) {
        return vec![format!("kernel interpreter: {error}")];
    }
    let found =
        |name: &str| names.iter().zip(&memories).find(|(n, _)| **n == name).map(|(_, m): (_, &Array)| m.clone());
    let mut wrong = vec![];
    for expect in &case.expect {
        let name = expect.memory.as_deref().unwrap_or_default();
        let difference = match found(name) {
            Some(array) => devices::difference(&expect.value, &Value::Array(array), expect.ulp),
            None => Some("is not passed".into()),
        };
        wrong.extend(difference.map(|text| format!("kernel interpreter: {name}, {text}")));
    }
    wrong
}

fn is_bound(space: slyz_sir::kernel::Space) -> bool {
    use slyz_sir::kernel::Space;
    match space {
        Space::Global(_) | Space::Constant => true,
        Space::Shared | Space::Scratch | Space::Local => false,
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let list = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut files: Vec<PathBuf> = list.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    files.sort();
    files
}

/// `SLYZ_CORPUS=name` keeps the files with that in their name.
fn wanted(path: &Path) -> bool {
    let part = std::env::var("SLYZ_CORPUS").unwrap_or_default();
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(&part))
}

/// The cases of a file, which has a number: how many there are, and what is wrong with them.
fn check_file(number: usize, path: &Path, roads: &[Road]) -> (usize, Vec<String>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).expect("a file of the corpus");
    let (module, cases) = match parse_file(&text) {
        Ok(parsed) => parsed,
        Err(error) => return (0, vec![format!("{name}: {error}")]),
    };
    if let Err(error) = verify::module(&module) {
        return (0, vec![format!("{name}: {error}")]);
    }
    if cases.is_empty() {
        return (0, vec![format!("{name}: has no case")]);
    }
    let stride = cases.len().div_ceil(FEW);
    let mut wrong: Vec<(&Case, String)> = vec![];
    // Cases of one program, which is compiled once, in the order of the file.
    let mut programs: Vec<(&str, Vec<(&Case, bool)>)> = vec![];
    for (place, case) in cases.iter().enumerate() {
        match &case.subject {
            Subject::Kernel(kernel) => {
                let texts = check_kernel_case(&module, kernel, case, roads);
                wrong.extend(texts.into_iter().map(|text| (case, text)));
            }
            Subject::Program(program) => {
                let is_of_few = place % stride == 0 || ALWAYS.contains(&&program[..]);
                match programs.iter_mut().find(|(known, _)| known == program) {
                    Some((_, cases)) => cases.push((case, is_of_few)),
                    None => programs.push((program, vec![(case, is_of_few)])),
                }
            }
        }
    }
    for (place, (program, cases)) in programs.into_iter().enumerate() {
        match module.programs.iter().find(|g| g.name == program) {
            Some(program) => wrong.extend(check_program(program, number + place, &cases, roads)),
            None => wrong.push((cases[0].0, format!("there is no program {program}"))),
        }
    }
    let failures = wrong.into_iter().map(|(case, text)| format!("{name}, \"{}\", {text}", case.name));
    (cases.len(), failures.collect())
}

#[test]
fn cases() {
    let (narrow, wide) = (devices::narrow(), devices::wide());
    let gpus = devices::gpus_and_opencl();
    let roads = roads(&narrow, &wide, &gpus);
    let mut files: Vec<(usize, PathBuf)> = files().into_iter().enumerate().filter(|(_, path)| wanted(path)).collect();
    // Long ones first, so that no core is left with one of them at the end.
    files.sort_by_key(|(_, path)| std::cmp::Reverse(std::fs::metadata(path).map_or(0, |data| data.len())));
    // One after the other under a sanitizer, which tells what ran last.
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = if devices::sanitizer::is_on() { 1 } else { cores };
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::from_fn(|| files.get(next.fetch_add(1, Ordering::Relaxed)));
        taken.map(|(number, path)| check_file(*number, path, &roads)).collect::<Vec<_>>()
    };
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a test does not panic here")).collect()
    });
    let count: usize = results.iter().map(|(count, _)| count).sum();
    let failures: Vec<String> = results.into_iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no case was run: tests/corpus is empty");
    // The other devices join this list when they are built.
    println!("{count} cases on: {}", roads.iter().map(|r| r.name).collect::<Vec<_>>().join("; "));
}

/// No code of the CPU goes outside of an array.
#[test]
fn cases_under_a_sanitizer() {
    devices::sanitizer::again(&["cases"], &[("SLYZ_ROAD", "cpu")]);
}

#[test]
fn text_makes_a_round_trip() {
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let Ok(module) = parse_module(&text) else { panic!("{} does not parse", path.display()) };
        let printed = print_module(&module);
        let again = parse_module(&printed).unwrap_or_else(|error| panic!("{}: {error}\n{printed}", path.display()));
        assert_eq!(print_module(&again), printed, "{}", path.display());
    }
}
