//! `slyz dump FILE.vex`: its kernels as SIR, as they are or at a stop of their road.

use super::{Blocks, Source, explain};
use crate::passes::{Camera, Moment, Passes, known};
use slyz_sir::choices::Checks;
use slyz_sir::program::Program;
use slyz_sir::road::{Destination, KernelRoad};
use std::io::Write;
use std::path::Path;

/// Prints the kernels; `is_cpu` says for which machine, if for any.
pub fn dump(
    path: &Path,
    is_cpu: Option<bool>,
    passes: &Passes,
    after: Option<&Moment>,
    blocks: &Blocks,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let source = Source::read_right(path)?;
    for kernel in &source.kernels {
        let Some(is_cpu) = is_cpu else {
            write!(out, "{}", kernel.template.kernel)?;
            continue;
        };
        let block = blocks.of(kernel, &source)?;
        let destination = match is_cpu {
            true => Destination::cores(&kernel.template, block),
            false => Destination::threads(&kernel.template, block),
        };
        let road = KernelRoad { destination, checks: blocks.checks(Checks::Report), passes: passes.selection() };
        known(road.check(after.map(|moment| &moment.pass[..])))?;
        let text = match after {
            None => road.end(&kernel.template)?.to_string(),
            Some(moment) => {
                let mut camera = Camera::new(moment);
                road.travel(&kernel.template, &mut |pass, kernel| camera.see(pass, kernel))?;
                camera.picture()?
            }
        };
        write!(out, "{text}")?;
    }
    Ok(())
}

/// The array programs that kernels of the file are. Those that stay as written are told of.
pub fn raised(path: &Path, blocks: &Blocks) -> anyhow::Result<Vec<Program>> {
    let source = Source::read_right(path)?;
    let mut programs = vec![];
    for kernel in &source.kernels {
        match explain::raised(kernel, blocks.of(kernel, &source)?) {
            Ok(raised) => programs.push(raised.program),
            Err(why) => eprintln!("{}: as written: {why}", kernel.name),
        }
    }
    Ok(programs)
}
