//! Runs the host part of a file: its statements in order, then `main`, over whatever machine launches the kernels.
//!
//! Values are numbers, texts and tensors. A tensor is a value: assigning or passing one never makes two names for the same
//! memory, so a write is seen through one name only (copies are made when they are needed). Numbers follow the rules of kernels: a
//! literal takes the type that is wanted, integers widen without loss, every other conversion is written.
//!
//! Parts: `number` has the types of numbers, `value` what names stand for, `scope` the names, `exec` statements, `eval` expressions,
//! `call` functions and methods, `tensor` what is special about tensors, `launch` launches, `print` what people see,
//! `interpreter` a machine without any device, `watch` the same with somebody who takes notes, `rehearsal` one without even that.
//!
//! The first mistake ends the run. Deliberately absent: threads, files, and everything else the outside has.

mod call;
mod eval;
mod exec;
mod interpreter;
mod launch;
mod number;
mod print;
mod rehearsal;
mod scope;
mod tensor;
mod value;
mod watch;

pub use crate::kernels::{Kernel, kernels};
pub use interpreter::{Arranged, Interpreter, arrange};
pub use rehearsal::rehearse;
pub use slyz_sir::threads::Threads;
pub use watch::{Watched, watch};

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{self, File, Item, Role};
use scope::Scopes;
use slyz_sir::launch::Fault;
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;
use std::io::Write;

/// The most calls, blocks and operators inside each other: about a hundred recursive calls, and a stack of 2 MB in debug builds.
const MAX_DEPTH: u32 = 300;

/// A tensor that a launch passes.
#[derive(Debug)]
pub enum Argument<'a, T> {
    /// It is read.
    Read {
        /// Element type.
        ty: Ty,
        /// Extents, outermost first. A parameter of one axis goes over all elements, whatever the shape.
        shape: &'a [u64],
        /// The elements.
        tensor: &'a T,
    },
    /// It is read and written.
    Write {
        /// Element type.
        ty: Ty,
        /// Extents, outermost first.
        shape: &'a [u64],
        /// The elements. Clones made before must not change.
        tensor: &'a mut T,
    },
}

/// What a launch passes. It fits the kernel's parameters.
#[derive(Debug)]
pub struct Launch<'a, T> {
    /// Its threads.
    pub threads: Threads,
    /// For the tensors among the parameters, in order.
    pub tensors: Vec<Argument<'a, T>>,
    /// For the scalars among the parameters, in order.
    pub scalars: Vec<Scalar>,
}

/// Why a machine did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A kernel went outside a tensor.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// Anything else, and what to do about it.
    #[error("{0}")]
    Other(String),
}

/// What runs kernels and keeps tensors.
///
/// Tensors are its own affair, so that they can stay in the memory of a device between launches. A clone is another value: what is
/// written to one is not seen in the other.
pub trait Machine {
    /// A tensor of this machine.
    type Tensor: Clone;

    /// Makes a tensor of elements in the host's memory, row-major, in the host's byte order; `bool` is one byte, 0 or 1.
    fn upload(&mut self, ty: Ty, shape: &[u64], bytes: &[u8]) -> Result<Self::Tensor, Failure>;

    /// The elements of a tensor, as [`Machine::upload`] takes them.
    fn download(&mut self, ty: Ty, shape: &[u64], tensor: &Self::Tensor) -> Result<Vec<u8>, Failure>;

    /// Runs a kernel.
    fn launch(&mut self, kernel: &Kernel, launch: Launch<'_, Self::Tensor>) -> Result<(), Failure>;

    /// Asked before each statement of the host: may the program go on?
    fn step(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Asked before the host makes a tensor of so many bytes.
    fn reserve(&mut self, _bytes: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// Is anything shown? Elements are fetched to be printed only then.
    fn prints(&self) -> bool {
        true
    }

    /// Asked where what would have been printed failed: does the program go on all the same?
    fn resumes(&mut self) -> bool {
        false
    }
}

/// Runs the host part of a file that was checked: its statements in order, then its function `main`, if it has one.
///
/// ```
/// use slyz_lang::{check, host, parse};
///
/// let text = "
///     graph fn double(x: Tensor<f32>!) {
///         if thread.x < x.len() { x[thread.x] *= 2.0 }
///     }
///     let! x = Tensor.from([1.0, 2.5])
///     launch double(&!x) with threads: x.len()
///     print(\"doubled:\", x)
/// ";
/// let (file, _) = parse::parse(text);
/// let program = check::check(&file, check::Dialect::Vex).program;
/// let mut out = vec![];
/// host::run(&file, &host::kernels(&program)?, &mut host::Interpreter::default(), &mut out).unwrap();
/// assert_eq!(String::from_utf8(out)?, "doubled: [2.0, 5.0]\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[allow(clippy::result_large_err)] // Once per run.
pub fn run<M: Machine>(
    file: &File,
    kernels: &[Kernel],
    machine: &mut M,
    out: &mut dyn Write,
) -> Result<(), Diagnostic> {
    let mut host = Host {
        functions: HashMap::new(),
        foreign: HashMap::new(),
        kernels: kernels.iter().map(|kernel| (&kernel.name[..], kernel)).collect(),
        machine,
        out,
        scopes: Scopes::default(),
        depth: 0,
    };
    host.file(file).map_err(|diagnostic| *diagnostic)
}

/// What went wrong; in a box, since most of the time nothing does.
type Outcome<T> = Result<T, Box<Diagnostic>>;

/// The host while it runs.
struct Host<'a, M: Machine> {
    functions: HashMap<&'a str, &'a syntax::Function>,
    foreign: HashMap<&'a str, Span>,
    kernels: HashMap<&'a str, &'a Kernel>,
    machine: &'a mut M,
    out: &'a mut dyn Write,
    scopes: Scopes<M::Tensor>,
    depth: u32,
}

impl<'a, M: Machine> Host<'a, M> {
    fn file(&mut self, file: &'a File) -> Outcome<()> {
        for item in &file.items {
            match item {
                Item::Function(function) => drop(self.functions.insert(&function.name.text, function)),
                Item::Foreign(name) => drop(self.foreign.insert(&name.text, name.span)),
                Item::Stmt(_) => {}
            }
        }
        for item in &file.items {
            if let Item::Stmt(stmt) = item {
                self.top_statement(stmt)?;
            }
        }
        match self.functions.get("main").copied().filter(|main| main.role == Role::Plain) {
            Some(main) if main.params.is_empty() => self.enter(main, vec![], main.name.span).map(drop),
            Some(main) => {
                let message = "`main` has parameters, but nobody passes arguments";
                Err(error("main-parameters", main.params[0].name.span, message)
                    .help("declare them in it with `let`")
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Goes one level deeper; too deep is an error instead of the end of the stack.
    fn deeper<T>(&mut self, span: Span, run: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= MAX_DEPTH {
            let message = "calls and expressions stand too deep inside each other here";
            return Err(error("recursion-depth", span, message)
                .help("write a loop instead, or end the recursion earlier")
                .into());
        }
        self.depth += 1;
        let done = run(self);
        self.depth -= 1;
        done
    }
}

/// An error of the host.
fn error(rule: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(rule, span, message)
}

/// `one argument`, `3 arguments`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("one {what}") } else { format!("{count} {what}s") }
}
