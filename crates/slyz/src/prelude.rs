//! What most programs want: `use slyz::prelude::*;`.

pub use crate::arr::{Arr, fill, iota, lift2, stack, tabulate, zip, zip_min};
pub use crate::axis::{Either, Fix, Flat, Min, Padded, Stride, Tri, fix};
pub use crate::compile::{Compiled, compile, compile_on};
pub use crate::complex::Complex;
pub use crate::elem::{Additive, Bits, Exp, Float, Int, Lift, Num, Scalar, Value, lit};
pub use crate::exp::horner;
pub use crate::extent::Extent;
pub use crate::fold::{all, any, argmax, argmin, count, fold, max, min, product, sum};
pub use crate::key::Key;
pub use crate::layout::concat;
pub use crate::linalg::{dot, matmul, outer};
pub use crate::loops::{for_each, iterate, repeat_while, scan_over};
pub use crate::module::Module;
pub use crate::monoid::{All, Any, MaxOf, MinOf, Monoid, Product, Sum, monoid};
pub use crate::position::{At, Idx, Near};
pub use crate::random;
pub use crate::scatter::{scatter, scatter_checked};
pub use crate::search::{Side, merge};
pub use crate::segment::Segments;
pub use crate::shape::{Cube, Inner, Matrix, Pos, Shape, Stack, Vector};
pub use crate::sort::lexsort;
pub use crate::state::State;
pub use crate::stencil::Border;
pub use crate::tensor::Tensor;
pub use crate::tiles::for_tiles;
// Traits and derives of one name: `#[derive(Axis)]`, `#[derive(Elem)]`, `#[derive(Arrays)]`.
pub use crate::{Arrays, Axis, Elem, Target, axis, bf16, f16};
pub use slyz_macros::einsum;
// Of `graph` the attribute alone: the module of the same name is `slyz::graph`.
#[cfg(feature = "graph")]
pub use slyz_macros::graph;
