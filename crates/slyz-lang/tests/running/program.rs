//! Runs a file from its text in the interpreter.

use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host::{self, Interpreter, Machine};
use slyz_lang::{check, parse};

/// What a run printed, and what ended it.
pub struct Ran {
    pub printed: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads, checks and runs a file.
pub fn run_on<M: Machine>(text: &str, machine: &mut M) -> Ran {
    let (file, mut diagnostics) = parse::parse(text);
    let checked = check::check(&file, check::Dialect::Vex);
    diagnostics.extend(checked.diagnostics.into_iter().filter(Diagnostic::is_error));
    if !diagnostics.is_empty() {
        return Ran { printed: String::new(), diagnostics };
    }
    let kernels = host::kernels(&checked.program).expect("small kernels");
    let mut out = vec![];
    let done = host::run(&file, &kernels, machine, &mut out);
    Ran { printed: String::from_utf8(out).expect("texts are texts"), diagnostics: done.err().into_iter().collect() }
}

/// The same in the interpreter.
pub fn run(text: &str) -> Ran {
    run_on(text, &mut Interpreter::default())
}
