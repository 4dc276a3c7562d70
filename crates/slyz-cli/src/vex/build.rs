//! `slyz build FILE.vex`: its kernels as files of targets.

use super::{Blocks, Source};
use crate::passes::known;
use crate::usage;
use anyhow::{Context, anyhow};
use slyz_lang::host::{self, Kernel};
use slyz_lang::typed::ParamKind;
use slyz_sir::back::harness::{self, ByHandLaunch, Emitted, Explicit, HandKernel, Options, Target};
use slyz_sir::choices::Checks;
use slyz_sir::road::{Destination, KernelRoad};
use std::path::Path;

/// The kernels of a file for targets, those with the names or all of them: as files, or as projects, whose cases are launches of the file.
pub fn build(
    path: &Path,
    names: &[String],
    targets: &[Target],
    options: &Options,
    blocks: &Blocks,
    project: bool,
) -> anyhow::Result<Vec<Emitted>> {
    let mut source = Source::read_right(path)?;
    let all: Vec<&str> = source.kernels.iter().map(|kernel| &kernel.name[..]).collect();
    if let Some(name) = names.iter().find(|name| !all.contains(&&name[..])) {
        return usage(format!("{}: no graph function `{name}`; there is: {}", path.display(), all.join(", ")));
    }
    if !names.is_empty() {
        source.kernels.retain(|kernel| names.contains(&kernel.name));
    }
    if source.kernels.is_empty() {
        return Err(anyhow!("{}: no graph function that can be launched; there is nothing to build", path.display()));
    }
    let mut kernels = vec![];
    for kernel in &source.kernels {
        let block = blocks.of(kernel, &source)?;
        kernels.push(Explicit { template: &kernel.template, block });
    }
    let mut all = vec![];
    for &target in targets {
        // A page tells what went wrong on it; a file of kernels has nobody to tell.
        let usual = if target == Target::Web { Checks::Report } else { Checks::Guard };
        let checks = blocks.checks(usual);
        let road = |destination: Destination| KernelRoad { destination, checks, passes: options.passes.clone() };
        for kernel in &kernels {
            known(road(kernel.destination(target)).check(None))?;
        }
        let emitted = match target {
            Target::Rust if project => harness::rust::emit_kernels(&watched(&source, &kernels), source.text()),
            _ if project => harness::project_kernels(&watched(&source, &kernels), target, &road, options),
            Target::Web => harness::web::emit_kernels(&watched(&source, &kernels), &road, options),
            _ => harness::emit_kernels(&kernels, target, &road, options),
        };
        all.push(emitted.with_context(|| path.display().to_string())?);
    }
    Ok(all)
}

/// The kernels with the names of their parameters, and with launches that the file makes in the same blocks.
fn watched<'a>(source: &Source, kernels: &[Explicit<'a>]) -> Vec<HandKernel<'a>> {
    let seen = host::watch(&source.file, &source.kernels);
    let hand = |(kernel, explicit): (&Kernel, &Explicit<'a>)| {
        let free = kernel.template.nature().free;
        let mine = seen.iter().filter(|one| one.kernel == kernel.name && (free || one.block == explicit.block));
        let launch = |one: &host::Watched| ByHandLaunch {
            threads: one.threads,
            sizes: one.sizes.clone(),
            arguments: one.arguments.clone(),
            results: one.results.clone(),
        };
        let is_tensor = |kind: &ParamKind| matches!(kind, ParamKind::Tensor { .. });
        let params = kernel.params.iter().map(|param| (param.name.clone(), is_tensor(&param.kind)));
        let launches = mine.map(launch).collect();
        HandKernel { template: explicit.template, block: explicit.block, params: params.collect(), launches }
    };
    source.kernels.iter().zip(kernels).map(hand).collect()
}
