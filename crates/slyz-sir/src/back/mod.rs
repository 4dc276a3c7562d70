//! Backends: kernels as text for compilers.

pub mod c;
