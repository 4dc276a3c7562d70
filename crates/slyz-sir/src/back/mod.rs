//! Backends: kernels as text for compilers.

pub mod c;
pub mod clike;
pub mod harness;
pub mod msl;
