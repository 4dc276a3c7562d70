//! Programs as CUDA C++: one file with all kernels, for hosts that people write themselves.

use super::{Emitted, File, Options, ProjectError, checked_names, rename};
use crate::back::cuda::{self, Cuda};
use crate::kernel::Kernel;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;

/// The head of a file.
const HEAD: &str = "// Positions have 32 bits: arrays have at most 2^31 elements.\n\n";

pub(super) fn emit(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Emitted, ProjectError> {
    let mut names = checked_names(programs)?;
    let mut kernels = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let mut plan = road.end(program);
        rename(&mut plan, &mut names);
        kernels.extend(plan.kernels);
    }
    emit_kernels(&kernels, options)
}

/// Kernels that people wrote.
pub(super) fn emit_kernels(kernels: &[Kernel], options: &Options) -> Result<Emitted, ProjectError> {
    let dialect = Cuda { precision: options.precision, narrow: true };
    let (text, _) = cuda::emit_all(&kernels.iter().collect::<Vec<_>>(), &dialect)?;
    let files = vec![File::text("kernels.cu".to_string(), format!("{HEAD}{text}"))];
    Ok(Emitted { files, build: "nvcc -cubin -arch=native -std=c++17 kernels.cu".to_string() })
}
