//! `slyz explain FILE.vex`: which of its kernels are array programs, and what becomes of those.

use super::{Blocks, Source};
use slyz_sir::explain::explain_on;
use slyz_sir::raise::{Candidate, Raised, Unraised};
use slyz_sir::road::{ProgramRoad, Strategy};
use std::io::Write;
use std::path::Path;

/// The program that a kernel is, for launches that fit.
pub fn raised(kernel: &slyz_lang::kernels::Kernel, block: [u32; 3]) -> Result<Raised, Unraised> {
    Candidate::new(&kernel.template)?.raise(block, None, true)
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
            Err(why) => writeln!(out, "{}: as written: {why}", kernel.name)?,
        }
    }
    Ok(())
}
