//! The driver: calls of programs and launches of kernels, on any device.
//!
//! ```text
//! program ── Engine::lower ──> Variant ─┐                        ┌─ allocate, upload, launch, download ─┐
//!                                     ├─ Prepared (by sizes) ──┤                                      ├──> results
//! kernel ── KernelRoad ────> Variant ─┘                        └─ Call: slots, steps, counts, clocks ─┘
//! ```
//!
//! A device is an [`Engine`]: memory, code, and a queue of launches. Everything else is here, once: arguments are checked against
//! signatures, plans chosen by sizes ([`Compiled`]), kernels brought into the form that a launch needs ([`KernelLauncher`]), launches
//! given numbers and cut into pieces ([`numbers`]), and plans walked ([`Call`]). All of it is generic, so that a small call
//! pays for no indirection.

mod blocks;
mod call;
mod compiled;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
mod described;
mod engine;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
mod forms;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
pub(crate) mod held;
mod launcher;
mod numbers;
mod raised;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
pub(crate) mod raw;
mod repeats;
pub(crate) mod stock;
mod tuning;
mod turns;
mod variant;
mod waiting;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
mod work;

pub(crate) use compiled::Compiled;
#[cfg(feature = "opencl")]
pub(crate) use described::Word;
#[cfg(any(feature = "cuda", feature = "hip"))]
pub(crate) use described::{Described, WIDE, limits_of};
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
pub(crate) use described::{lowered, shared_memory_fits};
#[cfg(feature = "cpu")]
pub(crate) use engine::Few;
#[cfg(any(feature = "cpu", feature = "wgpu"))]
pub(crate) use engine::Trouble;
pub(crate) use engine::{Engine, Launch, Limits, Narrow, Piece, Unrecorded};
#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
pub(crate) use forms::forms_of_kernel;
pub(crate) use launcher::KernelLauncher;
pub(crate) use variant::Variant;
#[cfg(any(feature = "cuda", feature = "hip"))]
pub(crate) use work::Shared;
#[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
pub(crate) use work::{OpensWhenUsed, Slot};

use crate::{ArrayData, Buffer, Error};
use slyz_sir::types::Ty;

/// Data in the memory that an engine works in. What is there already is shared.
pub(crate) fn resident<E: Engine>(engine: &E, ty: Ty, data: ArrayData<'_>) -> Result<Buffer, Error> {
    engine.alive()?;
    match data {
        ArrayData::Buffer(buffer) if engine.holds(buffer) => Ok(buffer.clone()),
        data => {
            let array = engine.upload(ty, data, &format_args!("an array{}", E::PLACE))?;
            engine.buffer(array, data.len())
        }
    }
}

#[cfg(test)]
mod toy;
