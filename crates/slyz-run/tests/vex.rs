//! The corpus of `.vex` programs: every file of `tests/corpus`, on every device.
//!
//! What a program prints must be what its comments say: all that stands behind `//>`, line by line. Programs run on the
//! interpreter, on the CPU with both kinds of code, and with the feature `wgpu` on a GPU, as it is and without optional features. Every
//! launch is also made under the Metal shim, and woven for the CPU in the interpreter of kernels.
#![cfg(feature = "cpu")]

mod devices;
#[path = "../../slyz-cli/src/vex/machine.rs"]
mod machine;
mod metal;

use machine::OnDevice;
use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host::{self, Argument, Failure, Kernel, Launch, Machine};
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_lang::syntax::File;
use slyz_run::Device;
use slyz_sir::back::msl::{self, Msl};
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::interp::{Array, Value};
use slyz_sir::launch::Template;
use slyz_sir::pass::{report, weave};
use slyz_sir::road::{Destination, KernelRoad};
use slyz_sir::types::{Scalar, Ty};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A program, checked.
struct Program {
    name: String,
    text: String,
    file: File,
    kernels: Vec<Kernel>,
    expected: Vec<String>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let list = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut files: Vec<PathBuf> = list.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "vex"));
    files.sort();
    // `SLYZ_CORPUS=name` keeps the files with that in their name.
    let part = std::env::var("SLYZ_CORPUS").unwrap_or_default();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&part)));
    files
}

fn programs() -> Vec<Program> {
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (file, mut diagnostics) = parse(&text);
        let checked = check(&file, Dialect::Vex);
        diagnostics.extend(checked.diagnostics);
        diagnostics.retain(Diagnostic::is_error);
        assert!(diagnostics.is_empty(), "{}", render(&name, &text, &diagnostics));
        let kernels = host::kernels(&checked.program).expect("kernels of a size that devices take");
        let expected = text.lines().filter_map(|line| line.split_once("//>")).map(|(_, told)| told.trim().to_string());
        let expected: Vec<String> = expected.collect();
        assert!(!expected.is_empty(), "{name} expects nothing");
        Program { name, expected, kernels, file, text }
    };
    files().into_iter().map(read).collect()
}

/// What is wrong with what a program prints on a machine.
fn run<M: Machine>(program: &Program, machine: &mut M) -> Result<(), String> {
    let mut out = vec![];
    let done = host::run(&program.file, &program.kernels, machine, &mut out);
    done.map_err(|diagnostic| render(&program.name, &program.text, &[diagnostic]))?;
    let printed = String::from_utf8(out).map_err(|error| error.to_string())?;
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    if printed == program.expected { Ok(()) } else { Err(format!("{printed:#?} instead of {:#?}", program.expected)) }
}

/// On a device: failures, and what is missing there.
fn on_device(device: &Arc<dyn Device>, lacks: &[&str]) -> (Vec<String>, usize) {
    let (mut wrong, mut missing) = (vec![], 0);
    for program in programs() {
        devices::sanitizer::note(|| format!("{} on {}", program.name, device.name()));
        for kernel in &program.kernels {
            // Where a compiler is missing another device takes over, and would be tested twice.
            if let Ok(launcher) = device.prepare(&kernel.template) {
                assert_eq!(launcher.device(), device.name(), "{}", program.name);
            }
        }
        match run(&program, &mut OnDevice::new(device.clone())) {
            Ok(()) => {}
            // What a poor GPU lacks it must name.
            Err(why) if lacks.iter().any(|lack| why.contains(&format!("(wgpu feature {lack})"))) => missing += 1,
            Err(why) => wrong.push(format!("{}: {why}", program.name)),
        }
    }
    (wrong, missing)
}

fn all_right((wrong, missing): (Vec<String>, usize)) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{missing} programs need what the device lacks");
}

#[test]
fn there_are_enough() {
    assert!(std::env::var("SLYZ_CORPUS").is_ok() || files().len() >= 60, "{} programs", files().len());
}

#[test]
fn interpreter() {
    let device = slyz_run::device(Some("interpreter")).expect("the interpreter");
    all_right(on_device(&device, &[]));
}

#[test]
fn cpu() {
    all_right(on_device(&(Arc::new(devices::narrow()) as Arc<dyn Device>), &[]));
}

#[test]
fn cpu_with_wide_code() {
    all_right(on_device(&(Arc::new(devices::wide()) as Arc<dyn Device>), &[]));
}

/// No code of the CPU goes outside of an array.
#[test]
fn cpu_under_a_sanitizer() {
    devices::sanitizer::again(&["cpu", "cpu_with_wide_code"], &[]);
}

#[test]
fn gpus() {
    for gpu in devices::gpus() {
        // The adapter that tests require has subgroups; one that somebody names may not.
        let poor = gpu.name == devices::PLAIN || std::env::var_os("SLYZ_ADAPTER").is_some();
        let subgroups = ["SUBGROUP", "SHADER_INT64_ATOMIC_ALL_OPS", "SUBGROUP_BARRIER"];
        let lacks = gpu.lacks.iter().copied().chain(subgroups.into_iter().filter(|_| poor));
        println!("{}", gpu.name);
        all_right(on_device(&Arc::from(gpu.device), &lacks.collect::<Vec<_>>()));
    }
}

/// A launch that the interpreter made, with what was there before and after.
struct Recorded {
    from: String,
    template: Arc<Template>,
    block: [u32; 3],
    sizes: Vec<u64>,
    before: Vec<Array>,
    after: Vec<Array>,
    scalars: Vec<Scalar>,
}

/// The interpreter, keeping a record.
struct Recorder<'a> {
    from: &'a str,
    inner: host::Interpreter,
    record: &'a mut Vec<Recorded>,
}

impl Machine for Recorder<'_> {
    type Tensor = Rc<Array>;

    fn upload(&mut self, ty: Ty, shape: &[u64], bytes: &[u8]) -> Result<Rc<Array>, Failure> {
        self.inner.upload(ty, shape, bytes)
    }

    fn download(&mut self, ty: Ty, shape: &[u64], tensor: &Rc<Array>) -> Result<Vec<u8>, Failure> {
        self.inner.download(ty, shape, tensor)
    }

    fn launch(&mut self, kernel: &Kernel, mut asked: Launch<'_, Rc<Array>>) -> Result<(), Failure> {
        let arranged = host::arrange(kernel, &asked)?;
        let tensors = asked.tensors.iter_mut().map(|argument| match argument {
            Argument::Read { ty, shape, tensor } => Argument::Read { ty: *ty, shape, tensor: *tensor },
            Argument::Write { ty, shape, tensor } => Argument::Write { ty: *ty, shape, tensor: &mut **tensor },
        });
        let again = Launch { threads: asked.threads, tensors: tensors.collect(), scalars: asked.scalars.clone() };
        self.inner.launch(kernel, again)?;
        let Some(host::Arranged { block, sizes, memories: before }) = arranged else { return Ok(()) };
        let mut after = before.clone();
        for (array, argument) in after.iter_mut().zip(&asked.tensors) {
            array.data = match argument {
                Argument::Read { tensor, .. } => tensor.data.clone(),
                Argument::Write { tensor, .. } => tensor.data.clone(),
            };
        }
        let (from, template) = (format!("{}: {}", self.from, kernel.name), kernel.template.clone());
        self.record.push(Recorded { from, template, block, sizes, before, after, scalars: asked.scalars });
        Ok(())
    }
}

fn recorded() -> Vec<Recorded> {
    let mut record = vec![];
    // A million threads are enough elsewhere.
    for program in programs().into_iter().filter(|program| !program.name.contains("page_launch_2d")) {
        let mut machine = Recorder { from: &program.name, inner: host::Interpreter::default(), record: &mut record };
        let done = run(&program, &mut machine);
        assert_eq!(done, Ok(()), "{}", program.name);
    }
    record
}

impl Recorded {
    fn free(&self) -> bool {
        !self.template.meets() && !self.template.sees_blocks()
    }

    /// The memories before the launch, and behind them one for faults if the kernel tells them.
    fn memories(&self, kernel: &slyz_sir::kernel::Kernel) -> Vec<Array> {
        let mut memories = self.before.clone();
        if kernel.memories.iter().filter(|memory| memory.space.is_bound()).count() > memories.len() {
            memories.push(Array { ty: Ty::I32, shape: vec![report::WORDS as u64], data: vec![0; report::WORDS] });
        }
        memories
    }

    /// What differs by more than so many units in the last place.
    fn compare(&self, found: &[Array], ulp: u32) -> Option<String> {
        let differ = |(expected, found): (&Array, &Array)| {
            devices::difference(&Value::Array(expected.clone()), &Value::Array(found.clone()), ulp)
        };
        self.after.iter().zip(found).find_map(differ).map(|why| format!("{}: {why}", self.from))
    }
}

/// Every launch as code for blocks, in the interpreter.
#[test]
fn woven() {
    let mut wrong = vec![];
    for made in &recorded() {
        let form = if made.free() { weave::Blocking::Free } else { weave::Blocking::Blocks(made.block) };
        let kernel = match KernelRoad::to(Destination::Cores(form)).end(&made.template) {
            Ok(kernel) => kernel,
            Err(why) => {
                wrong.push(format!("{}: {why}", made.from));
                continue;
            }
        };
        let mut memories = made.memories(&kernel);
        match launch(&kernel, &made.sizes, &mut memories, &made.scalars, &LaunchOptions::default()) {
            Ok(()) => wrong.extend(made.compare(&memories, 0)),
            Err(why) => wrong.push(format!("{}: {why}", made.from)),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every launch as Metal, compiled as C++ against the shim: all kernels in one file, as `kernels.metal` has them.
#[test]
fn under_the_metal_shim() {
    let record = recorded();
    let (mut kernels, mut launched, mut refused) = (vec![], vec![], vec![]);
    for made in &record {
        let to = Destination::Threads { block: made.block, exact: made.free(), folded: false };
        let mut kernel = KernelRoad::to(to).end(&made.template).expect("the road of threads has no end");
        match msl::emit(&[&kernel], &Msl::default()) {
            Ok(_) => {
                kernel.name = format!("{}_{}", kernel.name, kernels.len());
                kernels.push(kernel);
                launched.push(made);
            }
            Err(error) => refused.push(error.to_string()),
        }
    }
    let known = ["no f64", "no atomic"];
    assert!(refused.iter().all(|error| known.iter().any(|k| error.contains(k))), "{refused:#?}");
    let (source, descriptions) =
        msl::emit(&kernels.iter().collect::<Vec<_>>(), &Msl::default()).expect("kernels that go one by one");
    let Some(library) = metal::build(&source, descriptions.iter()) else { return };
    let mut wrong = vec![];
    for ((made, kernel), description) in launched.iter().zip(&kernels).zip(&descriptions) {
        let memories = made.memories(kernel);
        let mut bytes: Vec<Vec<u8>> = memories.iter().map(metal::to_bytes).collect();
        let pointers: Vec<_> = bytes.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
        let sizes: Vec<Option<u64>> = made.sizes.iter().copied().map(Some).collect();
        if let Err(why) = library.launch(description, &sizes, &pointers, &made.scalars) {
            wrong.push(format!("{}: {why}", made.from));
            continue;
        }
        let found: Vec<Array> = memories
            .iter()
            .zip(&bytes)
            .map(|(memory, bytes)| metal::from_bytes(memory.ty, memory.shape.clone(), bytes))
            .collect();
        // Mathematics there is the C library's, within what the operator table allows.
        wrong.extend(made.compare(&found, 4));
    }
    println!("{} launches under the shim; refused: {refused:?}", launched.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
