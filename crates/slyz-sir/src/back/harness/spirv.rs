//! Programs as SPIR-V: a file per kernel, for hosts that people write themselves.
//!
//! Kernels use what every Vulkan device has. Where a program works on 64-bit numbers they ask for those features too.

use super::native::Library;
use super::{Emitted, Entry, File, Options, ProjectError, Target, checked_names, raw, rename};
use crate::back::EmitError;
use crate::back::naga;
use crate::back::words::check_narrow;
use crate::kernel::Kernel;
use crate::lower::gpu::{Expected, Machine};
use crate::program::Program;
use crate::road::{ProgramRoad, Strategy};
use crate::size::Size;
use crate::verify;

/// Positions fit 32 bits.
pub(super) const MACHINE: Machine = Machine { max_positions: 1 << 30, ..Machine::webgpu() };

/// Positions are 32-bit numbers; arithmetic is marked as exact.
fn portable(options: &Options) -> naga::Target {
    naga::Target { narrow: true, precision: options.precision, ..naga::Target::default() }
}

/// The same with 64-bit numbers.
fn wide(options: &Options) -> naga::Target {
    naga::Target { int64: true, float64: true, narrow: false, ..portable(options) }
}

pub(super) fn emit(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Emitted, ProjectError> {
    Ok(emitted(library(programs, road, options)?.kernels))
}

/// Programs for hosts that walk their plans.
pub(super) fn library(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Library, ProjectError> {
    let mut names = checked_names(programs)?;
    let mut library = Library::default();
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let optimized = road.optimize(&raw::chosen(program, Target::Spirv));
        let strategy = Strategy::Threads(MACHINE, Expected::default());
        let mut plan = ProgramRoad { strategy, ..road.clone() }.lower(&optimized);
        rename(&mut plan, &mut names);
        for kernel in &plan.kernels {
            let module = module(&optimized, kernel, options)?;
            library.kernels.push(file(kernel, &module)?);
            library.extents.push(module.interface.extents);
        }
        library.entries.push(Entry { program: program.clone(), plan, kernels: vec![] });
    }
    Ok(library)
}

/// Kernels that people wrote. Where their integers do not fit 32 bits they need 64-bit ones.
pub(super) fn emit_kernels(kernels: &[Kernel], options: &Options) -> Result<Emitted, ProjectError> {
    Ok(emitted(shaders(kernels, options)?.0))
}

/// The same as files, each with the sizes that a launch tells the kernel.
pub(super) fn shaders(kernels: &[Kernel], options: &Options) -> Result<(Vec<File>, Vec<Vec<Size>>), ProjectError> {
    let mut files = vec![];
    let mut extents = vec![];
    for kernel in kernels {
        let target = naga::Target { subgroups: true, narrow: true, ..wide(options) };
        let module = naga::emit(kernel, &target)?;
        files.push(file(kernel, &module)?);
        extents.push(module.interface.extents);
    }
    Ok((files, extents))
}

fn file(kernel: &Kernel, module: &naga::Module) -> Result<File, ProjectError> {
    let bytes = naga::spirv(module)?.into_iter().flat_map(u32::to_le_bytes).collect();
    Ok(File::binary(format!("{}.spv", kernel.name), bytes))
}

fn emitted(files: Vec<File>) -> Emitted {
    let list = files.iter().map(|f| &f.name[..]).collect::<Vec<_>>().join(" ");
    Emitted { files, build: format!("for f in {list}; do spirv-val --target-env vulkan1.1 \"$f\"; done") }
}

/// The kernel as portable code, or else as code that needs features.
fn module(program: &Program, kernel: &Kernel, options: &Options) -> Result<naga::Module, ProjectError> {
    if check_narrow(program, MACHINE.max_positions).is_ok() {
        match naga::emit(kernel, &portable(options)) {
            Ok(module) => return Ok(module),
            Err(EmitError::Lacks { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(naga::emit(kernel, &wide(options))?)
}
