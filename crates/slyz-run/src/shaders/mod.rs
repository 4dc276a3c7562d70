//! The part of GPUs behind wgpu in bundles: shaders for calls of any size, written where there need be no GPU.
//!
//! Code is found by the text of the kernel and by what the adapter is to it ([`Target::of_kernel`](naga::Target::of_kernel)): by what the shader would be made
//! of, so that where there is some nothing is written. Kernels in a person's own WGSL are compiled where they run, with checks.

mod kind;

pub(crate) use kind::KNOWN;
#[cfg(feature = "wgpu")]
pub(crate) use kind::Kind;

use crate::Error;
#[cfg(feature = "wgpu")]
use crate::bundle;
use crate::bundle::{Object, Target};
use slyz_sir::back::{naga, words};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{Expected, Machine};
use slyz_sir::pass;
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Strategy};

/// What the code of a text hangs on besides.
const CHOICE: &str = "wgpu";

/// What a program becomes on an adapter before it is lowered.
pub(crate) fn begun(program: &Program, target: &naga::Target, machine: &Machine) -> Result<Program, Error> {
    let program = pass::optimize(program);
    if !target.int64 {
        words::check_narrow(&program, machine.max_positions).map_err(Error::Shader)?;
    }
    Ok(program)
}

/// The plan of such a program.
pub(crate) fn lowered(
    program: &Program,
    machine: Machine,
    precision: Precision,
    expected: &Expected,
    choice: Choice,
) -> Plan {
    let road = ProgramRoad::to(Strategy::Threads(machine, expected.clone()));
    ProgramRoad { choice, precision: Some(precision), ..road }.lower(program)
}

/// What the code of a kernel is found by.
pub(crate) fn text(kernel: &Kernel, target: &naga::Target) -> String {
    format!("{kernel}{:?}", target.of_kernel(kernel))
}

/// The code of a kernel, whose text that is.
pub(crate) fn object(kernel: &Kernel, target: &naga::Target, text: &str, language: Target) -> Result<Object, Error> {
    let module = naga::emit(kernel, target).map_err(Error::Shader)?;
    let bytes = match language {
        Target::SpirV => naga::spirv(&module).map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect()),
        _ => naga::wgsl(&module).map(String::into_bytes),
    };
    Ok(Object::new(language, text, CHOICE, bytes.map_err(Error::Shader)?))
}

/// The SPIR-V that a bundle has of a kernel.
#[cfg(feature = "wgpu")]
pub(crate) fn words(kernel: &Kernel, target: &naga::Target) -> Option<Vec<u32>> {
    let bytes = carried(kernel, target, Target::SpirV)?;
    let (words, _) = bytes.as_chunks();
    Some(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The WGSL that a bundle has of a kernel.
#[cfg(feature = "wgpu")]
pub(crate) fn wgsl(kernel: &Kernel, target: &naga::Target) -> Option<&'static str> {
    std::str::from_utf8(carried(kernel, target, Target::Wgsl)?).ok()
}

#[cfg(feature = "wgpu")]
fn carried(kernel: &Kernel, target: &naga::Target, language: Target) -> Option<&'static [u8]> {
    if kernel.raw.is_some() || !bundle::targets().contains(&language) {
        return None;
    }
    bundle::object(&text(kernel, target), CHOICE, [language])
}
