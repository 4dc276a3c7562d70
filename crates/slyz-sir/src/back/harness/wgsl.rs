//! Programs as WGSL: a file per kernel, for pages and hosts that people write themselves.
//!
//! Positions have 32 bits, and so has whatever is computed from them in `i64`; elements of 64 bits are refused, or asked for as an extension.

use super::{Emitted, File, Options, ProjectError, checked_names, rename};
use crate::back::wgsl::{self, Wgsl};
use crate::back::words::shorten;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;

pub(super) fn emit(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Emitted, ProjectError> {
    let mut names = checked_names(programs)?;
    let dialect = options.wgsl()?;
    let mut files = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        dialect.check_program(program)?;
        let mut plan = road.end(program);
        if !dialect.int64 {
            shorten(&mut plan);
        }
        rename(&mut plan, &mut names);
        for kernel in &plan.kernels {
            files.push(file(kernel, &dialect)?);
        }
    }
    Ok(emitted(files))
}

/// Kernels that people wrote.
pub(super) fn emit_kernels(kernels: &[Kernel], options: &Options) -> Result<Emitted, ProjectError> {
    let dialect = options.wgsl()?;
    let mut files = vec![];
    for kernel in kernels {
        dialect.check_kernel(kernel)?;
        files.push(file(kernel, &dialect)?);
    }
    Ok(emitted(files))
}

fn file(kernel: &Kernel, dialect: &Wgsl) -> Result<File, ProjectError> {
    let (text, _) = wgsl::emit(kernel, dialect)?;
    Ok(File::text(format!("{}.wgsl", kernel.name), text))
}

fn emitted(files: Vec<File>) -> Emitted {
    let list = files.iter().map(|f| &f.name[..]).collect::<Vec<_>>().join(" ");
    Emitted { files, build: format!("for f in {list}; do naga \"$f\"; done") }
}
