//! `slyz build FILE.vex`: its kernels as files of targets.

use super::{Blocks, Source};
use crate::passes::known;
use anyhow::{Context, anyhow};
use slyz_sir::back::harness::{Emitted, Explicit, Options, Target, emit_kernels};
use slyz_sir::choices::Checks;
use slyz_sir::road::{Destination, KernelRoad};
use std::path::Path;

/// The kernels of a file for targets.
pub fn build(path: &Path, targets: &[Target], options: &Options, blocks: &Blocks) -> anyhow::Result<Vec<Emitted>> {
    let source = Source::read_right(path)?;
    if source.kernels.is_empty() {
        return Err(anyhow!("{}: no graph function that can be launched; there is nothing to build", path.display()));
    }
    let mut kernels = vec![];
    for kernel in &source.kernels {
        let block = blocks.of(kernel, &source)?;
        kernels.push(Explicit { template: &kernel.template, block });
    }
    let road = |destination: Destination| KernelRoad {
        destination,
        checks: blocks.checks(Checks::Guard),
        passes: options.passes.clone(),
    };
    let mut all = vec![];
    for &target in targets {
        for kernel in &kernels {
            known(road(kernel.destination(target)).check(None))?;
        }
        all.push(emit_kernels(&kernels, target, &road, options).with_context(|| path.display().to_string())?);
    }
    Ok(all)
}
