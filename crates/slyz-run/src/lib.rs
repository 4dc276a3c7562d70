//! Devices: what compiles a SIR program and runs it on data.
//!
//! A [`Device`] turns a program into an [`Executable`], which is called with [`Argument`]s and gives [`Output`]s.
//! `cpu` builds the generated C with the system's compiler and keeps what it built in memory and on disk; `wgpu` has the
//! drivers of GPUs compile naga modules, `openvino` has OpenVINO compile models (each is a cargo feature, on by default); `interpreter` runs the meaning of SIR itself, slowly, and is there on every machine.
//!
//! This crate decides nothing about programs: passes, lowerings and source code are `slyz-sir`'s. It is the only
//! crate with `unsafe`, because generated code is loaded, and memory lent to it, here.
//!
//! ```
//! let device = slyz_run::device(Some("interpreter"))?;
//! assert_eq!(device.name(), "interpreter");
//! # Ok::<(), slyz_run::Error>(())
//! ```
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
pub mod ahead;
mod argument;
pub mod auto;
mod buffer;
mod build_time;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
// Levels of processors are for the CPU.
#[cfg_attr(not(feature = "cpu"), allow(dead_code))]
pub mod bundle;
#[cfg(feature = "cpu")]
mod cc;
#[cfg(feature = "cpu")]
mod cost;
#[cfg(feature = "cpu")]
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod devices;
mod disk;
pub mod dlpack;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
// Windows and resident scalars are for GPUs.
#[cfg_attr(not(feature = "wgpu"), allow(dead_code))]
mod driver;
mod error;
mod files;
pub mod hash;
#[cfg(feature = "hip")]
pub mod hip;
mod interpreter;
mod kept;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
mod kernels;
mod launch;
#[cfg(any(
    feature = "cpu",
    feature = "cuda",
    feature = "hip",
    feature = "opencl",
    feature = "openvino",
    feature = "wgpu"
))]
mod memo;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(feature = "openvino")]
pub mod openvino;
mod pool;
#[cfg(any(
    feature = "cpu",
    feature = "cuda",
    feature = "hip",
    feature = "opencl",
    feature = "openvino",
    feature = "wgpu"
))]
mod precision;
mod prepared;
// The interpreter alone launches nothing.
#[cfg_attr(
    not(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")),
    allow(dead_code)
)]
mod profile;
pub mod progress;
// Bundles are there with a device only.
#[cfg(all(feature = "shaders", any(feature = "cpu", feature = "cuda", feature = "wgpu")))]
mod shaders;
mod signature;
pub mod tune;
mod turns;
mod warn;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use argument::{Argument, ArrayData, Output};
pub use buffer::later::lazily;
pub use buffer::{Buffer, DeviceMemory};
pub use build_time::BuildTime;
/// The crate whose slices are shared.
#[cfg(feature = "cudarc")]
pub use cudarc;
pub use device::{Device, Executable, is_own_device, is_own_executable};
pub use devices::{Considered, auto, considered, device, devices};
pub use disk::CacheConfig;
pub use error::{ArgumentProblem, Error};
pub use files::{WriteError, write_files};
pub use interpreter::Interpreter;
#[doc(hidden)]
pub use kept::{Found, Kept};
pub use launch::{Launch, LaunchArray, Launcher, Threads};
pub use pool::{Block, Pool, PoolStats, pool_stats};
pub use prepared::Prepared;
pub use profile::{Clock, LaunchTime, profile};
