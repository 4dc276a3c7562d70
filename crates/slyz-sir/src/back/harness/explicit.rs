//! Kernels that people wrote, as files of targets. Their hosts are people's, too.
//!
//! A kernel is written for launches in blocks of one shape, with any number of threads. What becomes of accesses that are not proven, the road
//! says; where they are reported, the first fault is told in the last buffer, `faults` (`pass::report` says how).

use super::{
    Contents, Emitted, File, HandKernel, Options, ProjectError, Target, check_name, is_name, models, native, swift,
};
use crate::back::graph::GraphError;
use crate::back::{c, msl};
use crate::kernel::Kernel;
use crate::launch::Template;
use crate::program::Program;
use crate::raise::{Candidate, Passed};
use crate::road::{Destination, KernelRoad};

/// A kernel with what its files are made for.
#[derive(Clone, Debug)]
pub struct Explicit<'a> {
    /// The kernel.
    pub template: &'a Template,
    /// Threads of a block.
    pub block: [u32; 3],
}

impl Explicit<'_> {
    /// Where its road goes for a target.
    pub fn destination(&self, target: Target) -> Destination {
        match target {
            Target::C => Destination::cores(self.template, self.block),
            _ => Destination::threads(self.template, self.block),
        }
    }
}

/// The array program that a kernel is: graph compilers know no threads.
fn raised(explicit: &Explicit<'_>, kind: models::Kind) -> Result<Program, GraphError> {
    let kernel = &explicit.template.kernel;
    let stays = |why: String| GraphError::Kernel { kernel: kernel.name.clone(), format: kind.format().name, why };
    let candidate = Candidate::new(explicit.template).map_err(|why| stays(why.to_string()))?;
    let raised = candidate.raise(explicit.block, None, true).map_err(|why| stays(why.to_string()))?;
    if raised.params.iter().any(|passed| matches!(passed, Passed::Constant(_))) {
        return Err(stays("it has constant memory".to_string()));
    }
    let mut program = Program { name: kernel.name.clone(), ..raised.program };
    let bound: Vec<&str> = kernel.memories.iter().map(|memory| &memory.name[..]).collect();
    for (param, passed) in program.body.params.iter().zip(&raised.params) {
        if let Passed::Memory(number) = passed
            && let Some(name) = bound.get(*number)
        {
            program.names.note(param.id, name);
        }
    }
    Ok(program)
}

/// The kernels as files of a target, made with `road` (of which only the destination is not looked at).
///
/// ```
/// use slyz_sir::back::harness::{Explicit, Options, Target, emit_kernels};
/// use slyz_sir::{launch::Template, road::{Destination, KernelRoad}, text::parse_kernel};
/// let kernel = parse_kernel("kernel iota<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, out_len>()
///     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
///       global readwrite out: i32[out_len]
///       %i: i64 = global.x
///       %v: i32 = cast i32 %i
///       %ok: bool = check out[%i]
///       if %ok { store out[%i], %v } else {}
///     }")?;
/// let template = Template { kernel, constants: vec![] };
/// let kernels = [Explicit { template: &template, block: [256, 1, 1] }];
/// let emitted = emit_kernels(&kernels, Target::Metal, &KernelRoad::to, &Options::default())?;
/// assert!(emitted.files[0].as_text().is_some_and(|text| text.contains("kernel void iota")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit_kernels<'a>(
    kernels: &[Explicit<'a>],
    target: Target,
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let name = |kernel: &Explicit<'a>| kernel.template.kernel.name.clone();
    super::all_or_reasons(kernels, name, |kernels| emit_all(kernels, target, road, options))
}

/// Kernels with launches of theirs as a project of a target: what [`project`](super::project) writes for programs. A kernel is compared by its launches.
pub fn project_kernels(
    kernels: &[HandKernel],
    target: Target,
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let name = |hand: &HandKernel| hand.template.kernel.name.clone();
    super::all_or_reasons(kernels, name, |kernels| match target {
        Target::Web | Target::Metal => {
            let emitted = match target {
                Target::Metal => {
                    let source = swift::Source::File("kernels.metal");
                    let (project, harness) = swift::emit_kernels(kernels, road, options, source)?;
                    super::two_files(project, harness)
                }
                _ => super::web::emit_kernels(kernels, road, options)?,
            };
            Ok(super::with_readme(emitted, target, &kernels.iter().map(name).collect::<Vec<_>>()))
        }
        _ if native::Api::of(target).is_none() => Err(ProjectError::NoHostByHand { target: target.name() }),
        _ => native::emit_kernels(kernels, target, road, options),
    })
}

fn emit_all<'a>(
    kernels: &[Explicit<'a>],
    target: Target,
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let mut made: Vec<Kernel> = vec![];
    let model = match target {
        Target::OpenVino => Some(models::Kind::OpenVino),
        Target::CoreMl => Some(models::Kind::CoreMl),
        _ => None,
    };
    if let Some(kind) = model {
        let programs = kernels.iter().map(|explicit| raised(explicit, kind)).collect::<Result<Vec<Program>, _>>()?;
        return models::emit(&programs, kind, options);
    }
    for explicit in kernels {
        let name = &explicit.template.kernel.name;
        match target {
            Target::Metal | Target::MetalSingleFile => check_name(name)?,
            _ if !is_name(name) => return Err(ProjectError::Name(name.clone())),
            _ => {}
        }
        if made.iter().any(|other| other.name == *name) {
            return Err(ProjectError::Twice(name.clone()));
        }
        made.push(road(explicit.destination(target)).end(explicit.template)?);
    }
    let text = |name: &str, text: String| File { name: name.to_string(), contents: Contents::Text(text) };
    Ok(match target {
        Target::Metal => {
            let (source, _) = msl::emit(&made.iter().collect::<Vec<_>>(), &options.msl()?)?;
            let build = "xcrun -sdk macosx metal kernels.metal -o kernels.metallib".to_string();
            Emitted { files: vec![text("kernels.metal", source)], build }
        }
        Target::MetalSingleFile => {
            let (source, _) = msl::emit(&made.iter().collect::<Vec<_>>(), &options.msl()?)?;
            let build = super::SINGLE_FILE.to_string();
            Emitted { files: vec![text("kernels.swift", swift::embedded(&source, &[]))], build }
        }
        Target::C => {
            let source = c::emit_kernels(&made, false)?;
            let names: Vec<String> = made
                .iter()
                .enumerate()
                .map(|(k, kernel)| format!("/* slyz_kernel_{k}: {} */\n", kernel.name))
                .collect();
            let build = format!("cc {} kernels.c -o kernels.so", super::C_FLAGS);
            Emitted { files: vec![text("kernels.c", format!("{}{source}", names.concat()))], build }
        }
        Target::Cuda | Target::Hip | Target::HipRdna | Target::OpenCl => {
            super::simt::emit_kernels(&made, target, options)?
        }
        Target::Wgsl => super::wgsl::emit_kernels(&made, options)?,
        #[cfg(feature = "naga")]
        Target::Spirv => super::spirv::emit_kernels(&made, options)?,
        Target::Web => {
            let hand = |explicit: &Explicit<'a>| HandKernel {
                template: explicit.template,
                block: explicit.block,
                params: vec![],
                launches: vec![],
            };
            super::web::emit_kernels(&kernels.iter().map(hand).collect::<Vec<_>>(), road, options)?
        }
        Target::Rust => return Err(ProjectError::NoHostByHand { target: target.name() }),
        Target::OpenVino | Target::CoreMl => Emitted { files: vec![], build: String::new() },
    })
}
