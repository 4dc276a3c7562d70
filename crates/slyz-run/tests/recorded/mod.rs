//! Programs of the language of kernels, and a record of the launches that the interpreter makes for them.
#![allow(dead_code)] // Each test uses a part.

use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host::{self, Argument, Failure, Kernel, Launch, Machine};
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_lang::syntax::File;
use slyz_sir::interp::{Array, Value};
use slyz_sir::launch::Template;
use slyz_sir::pass::report;
use slyz_sir::types::{Scalar, Ty};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A program, checked.
#[derive(Clone)]
pub struct Program {
    pub name: String,
    text: String,
    file: File,
    pub kernels: Vec<Kernel>,
    expected: Vec<String>,
}

pub fn files() -> Vec<PathBuf> {
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

/// All programs of the corpus.
pub fn programs() -> Vec<Program> {
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let program = program(name, text);
        assert!(!program.expected.is_empty(), "{} expects nothing", program.name);
        program
    };
    files().into_iter().map(read).collect()
}

/// A program of that text.
pub fn program(name: String, text: String) -> Program {
    let (file, mut diagnostics) = parse(&text);
    let checked = check(&file, Dialect::Vex);
    diagnostics.extend(checked.diagnostics);
    diagnostics.retain(Diagnostic::is_error);
    assert!(diagnostics.is_empty(), "{}", render(&name, &text, &diagnostics));
    let kernels = host::kernels(&checked.program).expect("kernels of a size that devices take");
    let expected = text.lines().filter_map(|line| line.split_once("//>")).map(|(_, told)| told.trim().to_string());
    let expected = expected.collect();
    Program { name, expected, kernels, file, text }
}

/// What is wrong with what a program prints on a machine.
pub fn run<M: Machine>(program: &Program, machine: &mut M) -> Result<(), String> {
    let mut out = vec![];
    let done = host::run(&program.file, &program.kernels, machine, &mut out);
    done.map_err(|diagnostic| render(&program.name, &program.text, &[diagnostic]))?;
    let printed = String::from_utf8(out).map_err(|error| error.to_string())?;
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    if printed == program.expected { Ok(()) } else { Err(format!("{printed:#?} instead of {:#?}", program.expected)) }
}

/// A launch that the interpreter made, with what was there before and after.
pub struct Recorded {
    pub from: String,
    pub template: Arc<Template>,
    pub block: [u32; 3],
    pub sizes: Vec<u64>,
    pub before: Vec<Array>,
    pub after: Vec<Array>,
    pub scalars: Vec<Scalar>,
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

/// The launches of all programs of the corpus.
pub fn recorded() -> Vec<Recorded> {
    let mut record = vec![];
    // A million threads are enough elsewhere.
    for program in programs().into_iter().filter(|program| !program.name.contains("page_launch_2d")) {
        let (launches, done) = launches(&program);
        assert_eq!(done, Ok(()), "{}", program.name);
        record.extend(launches);
    }
    record
}

/// The launches of a program, and what is wrong with what it prints.
pub fn launches(program: &Program) -> (Vec<Recorded>, Result<(), String>) {
    let mut record = vec![];
    let mut machine = Recorder { from: &program.name, inner: host::Interpreter::default(), record: &mut record };
    let done = run(program, &mut machine);
    (record, done)
}

impl Recorded {
    /// Does it not matter which threads form a block?
    pub fn free(&self) -> bool {
        !self.template.meets() && !self.template.sees_blocks()
    }

    /// The memories before the launch, and behind them one for faults if the kernel tells them.
    pub fn memories(&self, kernel: &slyz_sir::kernel::Kernel) -> Vec<Array> {
        let mut memories = self.before.clone();
        if kernel.memories.iter().filter(|memory| memory.space.is_bound()).count() > memories.len() {
            memories.push(Array { ty: Ty::I32, shape: vec![report::WORDS as u64], data: vec![0; report::WORDS] });
        }
        memories
    }

    /// What differs by more than so many units in the last place.
    pub fn compare(&self, found: &[Array], ulp: u32) -> Option<String> {
        let differ = |(expected, found): (&Array, &Array)| {
            crate::devices::difference(&Value::Array(expected.clone()), &Value::Array(found.clone()), ulp)
        };
        self.after.iter().zip(found).find_map(differ).map(|why| format!("{}: {why}", self.from))
    }
}
