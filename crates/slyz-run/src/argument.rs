//! What goes into a call and what comes out.

use crate::{Buffer, Error};
use slyz_sir::types::{Scalar, Ty};
use std::borrow::Cow;

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Argument<'a> {
    /// One value.
    Scalar(Scalar),
    /// An array. One of shape `[]` also does for a scalar parameter, so that results can be passed on.
    Array {
        /// Element type.
        ty: Ty,
        /// Extents, outermost first.
        shape: Cow<'a, [u64]>,
        /// The elements, row-major.
        data: ArrayData<'a>,
    },
}

/// Where the elements of an array are. `bool` is one byte, 0 or 1; the byte order is the host's.
#[derive(Clone, Copy, Debug)]
pub enum ArrayData<'a> {
    /// Borrowed from the caller.
    Host(&'a [u8]),
    /// Kept by the host or by a device, this one or another.
    Buffer(&'a Buffer),
}

impl<'a> ArrayData<'a> {
    /// The elements as bytes; a device's are waited for.
    pub fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            ArrayData::Host(bytes) => Ok(bytes),
            ArrayData::Buffer(buffer) => buffer.bytes(),
        }
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        match self {
            ArrayData::Host(bytes) => bytes.len(),
            ArrayData::Buffer(buffer) => buffer.len(),
        }
    }

    /// Is there no data?
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// A result of a call.
#[derive(Clone, Debug)]
pub struct Output {
    /// Element type.
    pub ty: Ty,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
    /// The elements, row-major.
    pub data: Buffer,
}

impl<'a> Argument<'a> {
    /// An array on the host.
    ///
    /// ```
    /// use slyz_run::Argument;
    /// use slyz_sir::types::Ty;
    /// let argument = Argument::host(Ty::F32, &[2], &[1.0f32, 2.0]);
    /// # let _ = argument;
    /// ```
    pub fn host<T: bytemuck::NoUninit>(ty: Ty, shape: &[u64], data: &'a [T]) -> Argument<'a> {
        Argument::Array { ty, shape: shape.to_vec().into(), data: ArrayData::Host(bytemuck::cast_slice(data)) }
    }
}

impl Output {
    /// The result as an argument of the next call; its memory is shared.
    pub fn as_argument(&self) -> Argument<'_> {
        Argument::Array { ty: self.ty, shape: (&self.shape).into(), data: ArrayData::Buffer(&self.data) }
    }
}
