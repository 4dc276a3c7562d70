//! Programs as one file with all kernels, for hosts that people write themselves: CUDA C++, HIP and OpenCL C.

use super::{Emitted, File, Options, ProjectError, Target, checked_names, rename};
use crate::back::cuda::{self, Cuda, Vendor};
use crate::back::opencl::{self, OpenCl};
use crate::kernel::Kernel;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;

/// The head of a file.
const HEAD: &str = "// Positions have 32 bits: arrays have at most 2^31 elements.\n\n";

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
    let mut names = checked_names(programs)?;
    let mut kernels = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let mut plan = road.end(program);
        rename(&mut plan, &mut names);
        kernels.extend(plan.kernels);
    }
    emit_kernels(&kernels, target, options)
}

/// Kernels that people wrote.
pub(super) fn emit_kernels(kernels: &[Kernel], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    let kernels: Vec<&Kernel> = kernels.iter().collect();
    let precision = options.precision;
    let (name, text, build) = match target {
        Target::OpenCl => {
            let (text, _) = opencl::emit(&kernels, &OpenCl::portable(precision))?;
            ("kernels.cl", text, "clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only kernels.cl")
        }
        Target::Hip | Target::HipRdna => {
            let wide_waves = target == Target::Hip;
            let dialect = Cuda { precision, narrow: true, vendor: Vendor::Amd { wide_waves } };
            let (text, _) = cuda::emit_all(&kernels, &dialect)?;
            let build = if wide_waves { HIP_BUILD } else { HIP_RDNA_BUILD };
            ("kernels.hip", text, build)
        }
        _ => {
            let (text, _) = cuda::emit_all(&kernels, &Cuda { precision, narrow: true, vendor: Vendor::Nvidia })?;
            ("kernels.cu", text, "nvcc -cubin -arch=native -std=c++17 kernels.cu")
        }
    };
    let files = vec![File::text(name.to_string(), format!("{HEAD}{text}"))];
    Ok(Emitted { files, build: build.to_string() })
}
