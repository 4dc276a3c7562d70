//! From C to code that runs: the system's compiler, with a limit on its time, the disk cache in front of it, and libraries that are
//! loaded from memory where the system can.
//!
//! What it does not do: know anything of plans and launches. A device whose language the system's tools compile can share it.

mod config;
mod folder;
mod library;
mod process;
mod toolchain;
#[cfg(target_os = "linux")]
mod whole;

pub use config::CpuConfig;
pub(crate) use library::{KernelFn, Library};
pub(crate) use toolchain::{Origin, Toolchain};
