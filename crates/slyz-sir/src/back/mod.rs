//! Backends: kernels as text for compilers, and as modules for the drivers of GPUs.

pub mod c;
pub mod clike;
pub mod harness;
pub mod msl;
#[cfg(feature = "naga")]
pub mod naga;
