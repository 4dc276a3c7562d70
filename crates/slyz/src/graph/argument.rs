//! What may be passed for the tensors of a kernel.

use super::gathered::Gathered;
use crate::elem::{Elem, Scalar};
use crate::error::Error;
use crate::tensor::Tensor;
use crate::views::{TensorView, ViewError};
use slyz_run::{ArrayData, Buffer, Device, LaunchArray};
use slyz_sir::types::Ty;
use std::sync::Arc;

/// An argument that a kernel reads: what [`Input`] makes of it, and nothing to use on its own.
pub struct Reading<'a> {
    ty: Ty,
    shape: Vec<u64>,
    data: Data<'a>,
}

/// Data that a kernel reads.
enum Data<'a> {
    Array(ArrayData<'a>),
    /// The first elements of a tensor.
    Part(Buffer),
    /// A view that does not lie row by row.
    Gathered(Box<Gathered<'a>>),
    /// A view of nothing.
    Wrong(ViewError),
}

/// An argument that a kernel writes: what [`InOut`] makes of it, and nothing to use on its own.
pub struct Writing<'a> {
    ty: Ty,
    shape: Vec<u64>,
    target: Target<'a>,
}

enum Target<'a> {
    Tensor(&'a mut Buffer),
    /// Data of the host that is copied for the launch and back.
    Host(Box<dyn Host + 'a>),
}

/// Elements of the host, as bytes.
trait Host {
    fn bytes(&self) -> &[u8];
    fn fill(&mut self, bytes: &[u8]);
}

impl<T: Scalar> Host for &mut [T] {
    fn bytes(&self) -> &[u8] {
        T::view(self).unwrap_or(&[])
    }

    fn fill(&mut self, bytes: &[u8]) {
        T::fill(self, bytes)
    }
}

/// What may be passed for a tensor that a kernel reads, one over all elements or, with `RANK` from 2 on, one of so many axes.
///
/// | argument | over all elements | of `RANK` axes |
/// |---|---|---|
/// | `&Tensor<T, S>` | of any shape | of `RANK` axes |
/// | `&TensorView<T, R>` | of any shape | of `RANK` axes |
/// | `&[T]`, `&Vec<T>`, `&[T; N]` | yes | no |
/// | `(&data, [n, m])` | yes | yes |
/// | `&[[T; M]; N]`, `&Vec<[T; M]>` | yes | of 2 axes |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a tensor of `{T}` that the kernel reads",
    label = "wrong argument",
    note = "pass `&Tensor<{T}>`, `&Vec<{T}>`, `&[{T}]`, or `(&data, [rows, columns])` for a tensor of several axes"
)]
pub trait Input<'a, T, const RANK: usize = 1> {
    #[doc(hidden)]
    fn input(self) -> Reading<'a>;
}

/// What may be passed for a tensor that a kernel writes: what [`Input`] takes, as `&mut`. Data of the host is copied back after
/// the launch.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a tensor of `{T}` that the kernel writes",
    label = "wrong argument",
    note = "pass `&mut Tensor<{T}>`, `&mut Vec<{T}>`, `&mut [{T}]`, or `(&mut data, [rows, columns])` for a tensor of several axes"
)]
pub trait InOut<'a, T, const RANK: usize = 1> {
    #[doc(hidden)]
    fn in_out(self) -> Writing<'a>;
}

fn read<T: Scalar>(data: &[T], shape: Vec<u64>) -> Reading<'_> {
    // Scalars are stored as the host has them.
    Reading { ty: T::TY, shape, data: Data::Array(ArrayData::Host(T::view(data).unwrap_or(&[]))) }
}

fn write<T: Scalar>(data: &mut [T], shape: Vec<u64>) -> Writing<'_> {
    Writing { ty: T::TY, shape, target: Target::Host(Box::new(data)) }
}

fn extents(dims: &[usize]) -> Vec<u64> {
    dims.iter().map(|&dim| dim as u64).collect()
}

impl<'a, T: Scalar, S, const RANK: usize> Input<'a, T, RANK> for &'a Tensor<T, S> {
    fn input(self) -> Reading<'a> {
        // A scalar has one leaf.
        let data = self.buffers().next().map_or(ArrayData::Host(&[]), |(buffer, _)| ArrayData::Buffer(buffer));
        Reading { ty: T::TY, shape: extents(self.dims()), data: Data::Array(data) }
    }
}

impl<'a, T: Scalar, const R: usize, const RANK: usize> Input<'a, T, RANK> for &'a TensorView<'a, T, R> {
    fn input(self) -> Reading<'a> {
        let data = match self.rows() {
            Ok((buffer, Some(bytes))) if bytes < buffer.len() => Data::Part(buffer.prefix(bytes)),
            Ok((buffer, Some(_))) => Data::Array(ArrayData::Buffer(buffer)),
            Ok((memory, None)) => Data::Gathered(Box::new(Gathered { memory, lying: self.lying() })),
            Err(wrong) => Data::Wrong(wrong),
        };
        Reading { ty: T::TY, shape: extents(self.shape()), data }
    }
}

impl<'a, T: Scalar, S, const RANK: usize> InOut<'a, T, RANK> for &'a mut Tensor<T, S> {
    fn in_out(self) -> Writing<'a> {
        let shape = extents(self.dims());
        let target = match self.buffer_mut() {
            Some(buffer) => Target::Tensor(buffer),
            None => Target::Host(Box::new(&mut [] as &mut [T])),
        };
        Writing { ty: T::TY, shape, target }
    }
}

impl<'a, T: Scalar, D: AsRef<[T]> + ?Sized, const K: usize, const RANK: usize> Input<'a, T, RANK>
    for (&'a D, [usize; K])
{
    fn input(self) -> Reading<'a> {
        read(self.0.as_ref(), extents(&self.1))
    }
}

impl<'a, T: Scalar, D: AsMut<[T]> + ?Sized, const K: usize, const RANK: usize> InOut<'a, T, RANK>
    for (&'a mut D, [usize; K])
{
    fn in_out(self) -> Writing<'a> {
        write(self.0.as_mut(), extents(&self.1))
    }
}

/// Slices, vectors and arrays of elements; and of rows.
macro_rules! host {
    ($([$($N:ident)?] $Flat:ty, $Rows:ty;)*) => {$(
        impl<'a, T: Scalar, $(const $N: usize)?> Input<'a, T, 1> for &'a $Flat {
            fn input(self) -> Reading<'a> { read(&self[..], vec![self.len() as u64]) }
        }
        impl<'a, T: Scalar, $(const $N: usize)?> InOut<'a, T, 1> for &'a mut $Flat {
            fn in_out(self) -> Writing<'a> {
                let shape = vec![self.len() as u64];
                write(&mut self[..], shape)
            }
        }
        host!(@rows [$($N)?] $Rows, 1);
        host!(@rows [$($N)?] $Rows, 2);
    )*};
    (@rows [$($N:ident)?] $Rows:ty, $rank:literal) => {
        impl<'a, T: Scalar, const M: usize, $(const $N: usize)?> Input<'a, T, $rank> for &'a $Rows {
            fn input(self) -> Reading<'a> { read(self.as_flattened(), vec![self.len() as u64, M as u64]) }
        }
        impl<'a, T: Scalar, const M: usize, $(const $N: usize)?> InOut<'a, T, $rank> for &'a mut $Rows {
            fn in_out(self) -> Writing<'a> {
                let shape = vec![self.len() as u64, M as u64];
                write(self.as_flattened_mut(), shape)
            }
        }
    };
}
host! {
    [N] [T; N], [[T; M]; N];
    [] [T], [[T; M]];
    [] Vec<T>, Vec<[T; M]>;
}

#[cfg(feature = "vex")]
impl Reading<'_> {
    /// The type of the elements, and how many axes there are.
    pub(super) fn elements(&self) -> (Ty, usize) {
        (self.ty, self.shape.len())
    }
}

#[cfg(feature = "vex")]
impl Writing<'_> {
    /// The type of the elements, and how many axes there are.
    pub(super) fn elements(&self) -> (Ty, usize) {
        (self.ty, self.shape.len())
    }
}

impl<'a> Reading<'a> {
    /// Is it a view that does not lie row by row?
    pub(super) fn is_gathered(&self) -> bool {
        matches!(self.data, Data::Gathered(_))
    }

    /// Has the device give the elements of a view row by row.
    pub(super) fn begin(self, device: &Arc<dyn Device>) -> Result<Reading<'a>, Error> {
        let data = match self.data {
            Data::Gathered(view) => Data::Part(view.rows(device, self.ty, &self.shape)?),
            data => data,
        };
        Ok(Reading { data, ..self })
    }
}

impl Reading<'_> {
    pub(super) fn array(&self) -> Result<LaunchArray<'_>, Error> {
        let data = match &self.data {
            Data::Array(data) => *data,
            Data::Part(buffer) => ArrayData::Buffer(buffer),
            Data::Gathered(view) => ArrayData::Buffer(view.memory),
            Data::Wrong(wrong) => return Err(wrong.clone().into()),
        };
        Ok(LaunchArray::Read { ty: self.ty, shape: self.shape.clone(), data })
    }
}

/// What a launch writes: the memory of a tensor, or a copy of the host's data.
pub(super) struct Written<'a> {
    ty: Ty,
    shape: Vec<u64>,
    place: Place<'a>,
}

enum Place<'a> {
    Tensor(&'a mut Buffer),
    Copy(Buffer, Box<dyn Host + 'a>),
}

impl<'a> Writing<'a> {
    /// Copies what is on the host.
    pub(super) fn begin(self) -> Result<Written<'a>, Error> {
        let place = match self.target {
            Target::Tensor(buffer) => Place::Tensor(buffer),
            Target::Host(host) => Place::Copy(Buffer::copy_of(host.bytes())?, host),
        };
        Ok(Written { ty: self.ty, shape: self.shape, place })
    }
}

impl Written<'_> {
    pub(super) fn array(&mut self) -> LaunchArray<'_> {
        let data = match &mut self.place {
            Place::Tensor(buffer) => &mut **buffer,
            Place::Copy(buffer, _) => buffer,
        };
        LaunchArray::Write { ty: self.ty, shape: self.shape.clone(), data }
    }

    /// Copies back to the host.
    pub(super) fn end(self) -> Result<(), Error> {
        if let Place::Copy(buffer, mut host) = self.place {
            host.fill(buffer.bytes()?);
        }
        Ok(())
    }
}

impl<T: Elem, S> Tensor<T, S> {
    /// The memory of the only leaf.
    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.buffers_mut().first_mut()
    }
}
