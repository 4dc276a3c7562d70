//! Backends: kernels as text for compilers, and as modules for the drivers of GPUs.

pub mod c;
pub mod clike;
pub mod coreml;
pub mod cuda;
mod error;
pub mod graph;
mod halves;
pub mod harness;
mod library;
pub mod msl;
mod msl_names;
#[cfg(feature = "naga")]
pub mod naga;
pub mod opencl;
pub mod openvino;
mod teller;
pub mod tree;
pub mod wgsl;
pub mod words;

pub use error::EmitError;
