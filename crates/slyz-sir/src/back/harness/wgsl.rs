//! Programs as WGSL: a file per kernel, for pages and hosts that people write themselves.
//!
//! Positions have 32 bits, and so has whatever is computed from them in `i64`; elements of 64 bits are refused, or asked for as an extension.

use super::{Emitted, Entry, File, Options, ProjectError, Target, checked_names, raw, rename};
use crate::back::clike::Description;
use crate::back::wgsl::{self, Wgsl};
use crate::back::words::shorten;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;
use std::collections::BTreeSet;

pub(super) fn emit(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Emitted, ProjectError> {
    let mut names = checked_names(programs)?;
    let dialect = options.wgsl()?;
    let mut files = vec![];
    for program in programs {
        files.extend(entry(program, road, &dialect, &mut names)?.1);
    }
    Ok(emitted(files))
}

/// The launches of a program, and the files of its kernels.
fn entry(
    program: &Program,
    road: &ProgramRoad,
    dialect: &Wgsl,
    names: &mut BTreeSet<String>,
) -> Result<(Entry, Vec<File>), ProjectError> {
    verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
    let chosen = raw::chosen(program, Target::Wgsl);
    dialect.check_program(&chosen)?;
    let mut plan = road.end(&chosen);
    if !dialect.int64 {
        shorten(&mut plan);
    }
    rename(&mut plan, names);
    let (mut kernels, mut files) = (vec![], vec![]);
    for kernel in &plan.kernels {
        let (file, description) = file(kernel, dialect)?;
        kernels.push(description);
        files.push(file);
    }
    Ok((Entry { program: program.clone(), plan, kernels }, files))
}

impl Entry {
    /// A program as WGSL, for hosts that walk its plan: a file per kernel.
    pub fn wgsl(program: &Program, options: &Options) -> Result<(Entry, Vec<File>), ProjectError> {
        let mut names = checked_names(std::slice::from_ref(program))?;
        entry(program, &options.road(Target::Wgsl), &options.wgsl()?, &mut names)
    }
}

/// Kernels that people wrote.
pub(super) fn emit_kernels(kernels: &[Kernel], options: &Options) -> Result<Emitted, ProjectError> {
    let dialect = options.wgsl()?;
    let mut files = vec![];
    for kernel in kernels {
        dialect.check_kernel(kernel)?;
        files.push(file(kernel, &dialect)?.0);
    }
    Ok(emitted(files))
}

fn file(kernel: &Kernel, dialect: &Wgsl) -> Result<(File, Description), ProjectError> {
    let (text, description) = match &kernel.raw {
        Some(code) => raw::shader(kernel, code)?,
        None => wgsl::emit(kernel, dialect)?,
    };
    Ok((File::text(format!("{}.wgsl", kernel.name), text), description))
}

fn emitted(files: Vec<File>) -> Emitted {
    let list = files.iter().map(|f| &f.name[..]).collect::<Vec<_>>().join(" ");
    Emitted { files, build: format!("for f in {list}; do naga \"$f\"; done") }
}
