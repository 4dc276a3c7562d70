//! Programs as one file with all kernels, for hosts that people write themselves: CUDA C++, HIP and OpenCL C.

use super::native::Library;
use super::{Emitted, Entry, File, Options, ProjectError, Target, checked_names, raw, rename};
use crate::back::clike::Description;
use crate::back::cuda::{self, Cuda, Vendor};
use crate::back::opencl::{self, OpenCl};
use crate::kernel::{Kernel, Plan};
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;

/// The head of a file.
const HEAD: &str = "// Positions have 32 bits: arrays have fewer than 2^31 elements.\n\n";

/// How HIP is compiled, for GPUs of both kinds.
const HIP_BUILD: &str = "hipcc --genco --offload-arch=gfx942 -ffp-contract=off kernels.hip -o kernels.hsaco";
const HIP_RDNA_BUILD: &str = "hipcc --genco --offload-arch=gfx1100 -ffp-contract=off kernels.hip -o kernels.hsaco";

/// All kernels of programs.
pub(super) fn emit(
    programs: &[Program],
    target: Target,
    road: &ProgramRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let plans = plans(programs, target, road)?;
    let kernels: Vec<Kernel> = plans.into_iter().flat_map(|plan| plan.kernels).collect();
    emit_kernels(&kernels, target, options)
}

fn plans(programs: &[Program], target: Target, road: &ProgramRoad) -> Result<Vec<Plan>, ProjectError> {
    let mut names = checked_names(programs)?;
    let mut plans = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let mut plan = road.end(&raw::chosen(program, target));
        rename(&mut plan, &mut names);
        plans.push(plan);
    }
    Ok(plans)
}

/// Programs for hosts that walk their plans, and the text of their kernels. Those are called `NAME_kernel`: beside them is the host's library,
/// which has a `sum`, an `index` and much more.
pub(super) fn library(
    programs: &[Program],
    target: Target,
    road: &ProgramRoad,
    options: &Options,
) -> Result<Library, ProjectError> {
    let mut plans = plans(programs, target, road)?;
    plans.iter_mut().flat_map(|plan| &mut plan.kernels).for_each(|kernel| kernel.name += "_kernel");
    let kernels: Vec<Kernel> = plans.iter().flat_map(|plan| plan.kernels.clone()).collect();
    let (file, descriptions) = described(&kernels, target, options)?;
    let sources = raw::sources(&kernels)?;
    let mut descriptions = descriptions.into_iter();
    let entries = programs.iter().zip(plans).map(|(program, plan)| {
        let kernels = descriptions.by_ref().take(plan.kernels.len()).collect();
        Entry { program: program.clone(), plan, kernels }
    });
    let files = [vec![file], raw::files(&sources)].concat();
    Ok(Library::new(entries.collect(), files))
}

/// The file of kernels, and what launches need to know of each.
pub(super) fn described(
    kernels: &[Kernel],
    target: Target,
    options: &Options,
) -> Result<(File, Vec<Description>), ProjectError> {
    let (text, descriptions) = text(&kernels.iter().collect::<Vec<_>>(), target, options)?;
    let (name, _) = file(target);
    Ok((File::text(name.to_string(), text), descriptions))
}

/// The name of the file of kernels, and how it is compiled.
fn file(target: Target) -> (&'static str, &'static str) {
    match target {
        Target::OpenCl => {
            ("kernels.cl", "clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only kernels.cl")
        }
        Target::Hip => ("kernels.hip", HIP_BUILD),
        Target::HipRdna => ("kernels.hip", HIP_RDNA_BUILD),
        _ => ("kernels.cu", "nvcc -cubin -arch=native -std=c++17 kernels.cu"),
    }
}

/// The file of kernels, and what launches need to know.
fn text(kernels: &[&Kernel], target: Target, options: &Options) -> Result<(String, Vec<Description>), ProjectError> {
    let precision = options.precision;
    let (text, descriptions) = raw::described(kernels, |kernels| {
        let cuda = |vendor| cuda::emit_all(kernels, &Cuda { precision, narrow: true, vendor });
        match target {
            Target::OpenCl => opencl::emit(kernels, &OpenCl::portable(precision)),
            Target::Hip | Target::HipRdna => cuda(Vendor::Amd { wide_waves: target == Target::Hip }),
            _ => cuda(Vendor::Nvidia),
        }
    })?;
    Ok((format!("{HEAD}{text}"), descriptions))
}

/// Kernels that people wrote.
pub(super) fn emit_kernels(kernels: &[Kernel], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    let (written, _) = described(kernels, target, options)?;
    let (name, build) = file(target);
    let sources = raw::files(&raw::sources(kernels)?);
    // Each file is compiled as the first is.
    let compiled = |file: &File| {
        let [stem, other] = [name, &file.name].map(|name| name.split_once('.').map_or(name, |(stem, _)| stem));
        build.replace(stem, other)
    };
    let build: Vec<String> = std::iter::once(build.to_string()).chain(sources.iter().map(compiled)).collect();
    Ok(Emitted { files: [vec![written], sources].concat(), build: build.join(" && ") })
}
