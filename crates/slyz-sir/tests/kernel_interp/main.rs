//! The interpreter of kernels: every mistake it promises to report, and what a case of the corpus cannot say.

mod code;
mod lanes;
mod lowered;
mod mistakes;
mod plans;

use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, launch};
use slyz_sir::kernel::Kernel;
use slyz_sir::types::{Scalar, Ty};

/// An array of `f32`.
fn floats(shape: &[u64], data: impl IntoIterator<Item = f32>) -> Array {
    Array { ty: Ty::F32, shape: shape.to_vec(), data: data.into_iter().map(|x| x.to_bits() as u64).collect() }
}

/// An array of `i64`.
fn ints(shape: &[u64], data: impl IntoIterator<Item = i64>) -> Array {
    Array { ty: Ty::I64, shape: shape.to_vec(), data: data.into_iter().map(|x| x as u64).collect() }
}

fn to_ints(array: &Array) -> Vec<i64> {
    array.data.iter().map(|&bits| bits as i64).collect()
}

/// A launch with default options.
fn run(kernel: &Kernel, sizes: &[u64], memories: &mut [Array], scalars: &[Scalar]) -> Result<(), KernelError> {
    launch(kernel, sizes, memories, scalars, &LaunchOptions::default())
}
