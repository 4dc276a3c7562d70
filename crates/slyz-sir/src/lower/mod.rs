//! From graphs to kernels and plans: one strategy per kind of machine.
//!
//! `planning` and `writer` are what the strategies share: where values of a graph live in a plan, and graph code
//! written out as kernel code. `access` says how code reads arrays, `product` which folds are products of matrices.

mod access;
pub mod cpu;
pub mod gpu;
mod planning;
mod product;
mod writer;

/// Elements of a piece of a sum that one lane makes alone; the sums of pieces are summed.
const PIECE: i64 = 256;
