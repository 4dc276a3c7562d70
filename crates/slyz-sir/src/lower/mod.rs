//! From programs to kernels and plans: one strategy per kind of machine.
//!
//! `planning` and `writer` are what the strategies share: where values of a program live in a plan, and program code
//! written out as kernel code. `access` says how code reads arrays, `product` which folds are products of matrices, `matrices` which of
//! those a library has,
//! `choice` what is chosen where several choices are right, `reuse` which arrays are written over others, `sorting` what a sort moves, `stage` what is made before it is used, `untile` which tiles
//! are written to their places in a whole.

mod access;
mod choice;
pub mod cpu;
pub mod gpu;
mod leading;
mod matrices;
mod planning;
mod product;
mod raw;
pub(crate) mod reuse;
mod sorting;
mod stage;
mod turns;
mod untile;
mod writer;

pub use choice::{Choice, STEPS};

use crate::code::Body;
use crate::pass::spread::{FAN, RUN};
use crate::size::Size;

pub(crate) use product::Product;

/// How many terms the sums of a tabulate have, where it is a product of matrices.
pub(crate) fn product_extent(body: &Body) -> Option<&Size> {
    Product::of(body).map(|product| product.extent)
}

/// Terms of the sums of a product of matrices that are added one after the other; the sums of pieces are summed.
const PIECE: i64 = 256;
