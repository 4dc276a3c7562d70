//! Backends: kernels as text for compilers, and as modules for the drivers of GPUs.

pub mod c;
#[cfg(feature = "naga")]
pub mod naga;
