//! `slyz explain FILE.vex`: which of its kernels are array programs, and what becomes of those.

use super::{Blocks, Source};
use slyz_lang::check::gives::is_of;
use slyz_lang::kernels::Kernel;
use slyz_lang::stores::first_store;
use slyz_lang::syntax::{Function, Item};
use slyz_sir::explain::explain_on;
use slyz_sir::raise::{Candidate, Raised, Unraised};
use slyz_sir::road::{ProgramRoad, Strategy};
use std::io::Write;
use std::path::Path;

/// The program that a kernel is, for launches that fit.
pub fn raised(kernel: &Kernel, block: [u32; 3]) -> Result<Raised, Unraised> {
    Candidate::new(&kernel.template)?.raise(block, None, true)
}

/// The line where the memory is written that keeps a kernel from being a program.
fn line_of(why: &Unraised, kernel: &Kernel, source: &Source) -> Option<usize> {
    let memory = why.memory()?;
    let named = |function: &Function| function.name.text == kernel.name || is_of(&kernel.name, &function.name.text);
    let place = source.file.items.iter().find_map(|item| match item {
        Item::Function(function) if named(function) => first_store(function, &memory),
        _ => None,
    });
    source.line(place?)
}

/// Says it of every kernel.
pub fn explain(path: &Path, blocks: &Blocks, out: &mut dyn Write) -> anyhow::Result<()> {
    let source = Source::read_right(path)?;
    for kernel in &source.kernels {
        match raised(kernel, blocks.of(kernel, &source)?) {
            Ok(raised) => {
                writeln!(out, "{}: raised: {}", kernel.name, raised.summary())?;
                let explanation = explain_on(&raised.program, &ProgramRoad::to(Strategy::Cores)).to_string();
                for line in explanation.lines() {
                    writeln!(out, "  {line}")?;
                }
            }
            Err(why) => {
                let line = line_of(&why, kernel, &source).map_or(String::new(), |line| format!(" (line {line})"));
                writeln!(out, "{}: as written: {why}{line}", kernel.name)?;
            }
        }
    }
    Ok(())
}
