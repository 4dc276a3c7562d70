//! CUDA's part of bundles: kernels for calls of any size, compiled where there need be no GPU.

use super::code;
use super::opened::{MACHINE, need_compiler};
use crate::Error;
use crate::bundle::{self, Target};
use crate::driver::raw;
use cudarc::driver::result;
use slyz_sir::back::cuda::{self, Cuda as Dialect, Vendor};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::gpu::Expected;
use slyz_sir::pass;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::road::{ProgramRoad, Strategy};

/// The plan that expects nothing.
pub(crate) fn lower(program: &Program) -> Plan {
    ProgramRoad::to(Strategy::Threads(MACHINE, Expected::default())).lower(&pass::optimize(program))
}

pub(crate) fn text(kernel: &Kernel, precision: Precision, narrow: bool) -> Result<String, Error> {
    if let Some((text, _)) = raw::text(kernel, Language::Cuda)? {
        return Ok(text);
    }
    let dialect = Dialect { precision, narrow, vendor: Vendor::Nvidia };
    Ok(cuda::emit(kernel, &dialect).map_err(Error::Shader)?.0)
}

/// What else the code of a text hangs on.
pub(crate) fn choice(precision: Precision) -> &'static str {
    match precision {
        Precision::Native => "cuda native",
        Precision::Table => "cuda table",
        Precision::Exact => "cuda exact",
    }
}

/// The image of a text for the driver.
pub(crate) fn compiled(kernel: &Kernel, text: &str, precision: Precision, target: Target) -> Result<Vec<u8>, Error> {
    need_compiler()?;
    let options = match kernel.raw {
        Some(_) => code::raw_options(&target.to_string(), code::version()),
        None => code::options(&target.to_string(), precision),
    };
    let trouble = |why| Error::Driver { what: format!("to compile kernel `{}` for {target}", kernel.name), why };
    let mut image = code::compiled(text, &options, matches!(target, Target::Ptx(_))).map_err(trouble)?;
    // PTX is a text, of which the driver wants to see the end.
    if matches!(target, Target::Ptx(_)) && image.last() != Some(&0) {
        image.push(0);
    }
    Ok(image)
}

/// What a bundle has for the text on a GPU of an architecture: its own code, or else the newest PTX that it can run.
pub(super) fn carried(text: &str, precision: Precision, own: u32) -> Option<&'static [u8]> {
    let mut targets: Vec<Target> = bundle::targets().into_iter().filter(|target| runs(*target, own)).collect();
    targets.sort_by_key(|target| match target {
        Target::Cubin(architecture) => (0, u32::MAX - architecture),
        Target::Ptx(architecture) => (1, u32::MAX - architecture),
        _ => (2, 0),
    });
    bundle::object(text, choice(precision), targets)
}

/// What there is to say about an image that the driver does not take, where nobody can compile another.
pub(super) fn refused(kernel: &str, error: &result::DriverError) -> Error {
    let cure = "Put code for the architecture of this GPU into the bundle, or build it with an NVRTC that is no newer than the driver";
    Error::Driver { what: format!("to load kernel `{kernel}` from the bundle"), why: format!("{error}. {cure}") }
}

/// Does a bundle have anything for GPUs of NVIDIA?
pub(super) fn is_carried() -> bool {
    bundle::targets().iter().any(|target| matches!(target, Target::Cubin(_) | Target::Ptx(_)))
}

/// Code is for an architecture and for later ones of the same generation.
fn runs(target: Target, own: u32) -> bool {
    match target {
        Target::Cubin(architecture) => architecture <= own && architecture / 10 == own / 10,
        Target::Ptx(architecture) => architecture <= own,
        Target::Baseline | Target::X86_64(_) | Target::SpirV | Target::Wgsl => false,
    }
}
