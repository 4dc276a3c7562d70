//! The meaning of SIR. Every device is held to it.

#[cfg(feature = "compiler")]
pub mod fold;
#[cfg(feature = "compiler")]
pub mod kernel;
#[cfg(feature = "compiler")]
pub mod program;

use crate::types::{Scalar, Ty};

/// A value at the border of a program: an argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One scalar.
    Scalar(Scalar),
    /// An array.
    Array(Array),
}

/// An array on the host, row-major, one word of bits per element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Element type.
    pub ty: Ty,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Bits of the elements, zero-extended as in [`Scalar`].
    pub data: Vec<u64>,
}
