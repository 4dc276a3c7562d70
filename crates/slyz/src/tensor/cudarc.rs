//! Tensors from and to slices of the crate `cudarc`, without a copy.

use super::{Below, Tensor, TensorShape, count_of};
use crate::elem::{Elem, tys_of};
use crate::{Error, TensorError};
use slyz_run::cuda::slices::{self, LentSlice};
use slyz_run::cudarc::driver::{CudaSlice, CudaStream};
use smallvec::smallvec;
use std::marker::PhantomData;
use std::sync::Arc;

/// Elements that stand in one array, as cudarc has them.
fn plain<T: Elem>() -> Result<(), Error> {
    let tys = tys_of::<T>();
    match tys[..] {
        [ty] if ty.bytes() == size_of::<T>() => Ok(()),
        _ => {
            let why = "its elements have several parts, which stand in arrays of their own".to_string();
            Err(slyz_run::Error::NotShared { why }.into())
        }
    }
}

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// Takes over a slice of cudarc's, in rows of these dimensions, without a copy. The device `cuda` (or `cuda:1`, as the slice's GPU is) reads it where it is, behind
    /// what the slice's stream has to do; nobody waits. What is to be written is copied first. The slice must be of its GPU's primary context, as
    /// `CudaContext::new` makes it.
    ///
    /// Kernels of yours that still write to the slice must have been launched on its stream, or be known to cudarc by its events.
    ///
    /// ```no_run
    /// use slyz::cudarc::driver::CudaContext;
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let stream = CudaContext::new(0)?.default_stream();
    /// let slice = stream.clone_htod(&[1.0f32, 2.0, 3.0])?;
    /// let x = Tensor::<f32, N>::from_cudarc([3], slice)?;
    /// let doubled = compile_on(&slyz::device("cuda")?, |x: Arr<f32, N>| x * 2.0)?.call(&x)?;
    /// let lent = doubled.to_cudarc(&stream)?;
    /// assert_eq!(stream.clone_dtoh(&*lent)?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_cudarc<const R: usize>(dims: [usize; R], slice: CudaSlice<T>) -> Result<Self, Error> {
        plain::<T>()?;
        S::check(&dims)?;
        let expected = count_of(&dims).unwrap_or(u64::MAX);
        if expected != slice.len() as u64 {
            return Err(TensorError::Length { dims: dims.to_vec(), expected, found: slice.len() as u64 }.into());
        }
        let buffer = slices::adopt(slice)?;
        Ok(Tensor { dims: dims.to_vec(), leaves: smallvec![buffer], below: Below::default(), kind: PhantomData })
    }
}

impl<T: Elem, S> Tensor<T, S> {
    /// Lends the elements to cudarc as a slice on a stream of the same GPU, without a copy. The stream waits for the calls that make them; nobody else does. They come back when
    /// the slice is dropped. It is there to be read: what is launched with it must not write to it.
    ///
    /// The tensor has to be memory of a CUDA device: what its calls give is, and what [`Tensor::to`] has brought there.
    ///
    /// ```no_run
    /// use slyz::cudarc::driver::CudaContext;
    /// use slyz::prelude::*;
    /// let x: Tensor<f32> = Tensor::from_vec([2], vec![1.0, 2.0])?.to(&slyz::device("cuda")?)?;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let lent = x.to_cudarc(&stream)?; // as a `&CudaSlice<f32>`
    /// assert_eq!(stream.clone_dtoh(&*lent)?, [1.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_cudarc(&self, stream: &Arc<CudaStream>) -> Result<LentSlice<T>, Error> {
        plain::<T>()?;
        let [leaf] = &self.leaves[..] else { unreachable!("elements of one part have one array") };
        Ok(slices::lend(leaf, self.len(), stream)?)
    }
}
