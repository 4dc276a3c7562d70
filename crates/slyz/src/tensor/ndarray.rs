//! Tensors as views of `ndarray`, arrays of `ndarray` as tensors and as arguments of calls. Nothing is copied on the host where elements stand in
//! rows one behind the other.

use super::{Tensor, TensorShape};
use crate::arr::Arr;
use crate::elem::Elem;
use crate::error::{Error, TensorError};
use crate::feed::{Fed, Feed};
use crate::shape::Shape;
use ndarray::{Array, ArrayBase, ArrayView, ArrayViewD, Data, Dimension, IxDyn};

impl<T: Elem, S> Tensor<T, S> {
    /// The elements as a view of `ndarray` (feature `ndarray`), without a copy. They have to be in memory of the host; see [`Tensor::as_slice`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let x = Tensor::<f32, (N, M)>::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let view = x.as_ndarray()?; // or ndarray::ArrayView2::try_from(&x)?
    /// assert_eq!(view[[1, 0]], 3.0);
    /// let turned = Tensor::<f32, (M, N)>::try_from(view.t().to_owned())?;
    /// assert_eq!(turned.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn as_ndarray(&self) -> Result<ArrayViewD<'_, T>, Error> {
        let view = ArrayView::from_shape(IxDyn(&self.dims), self.as_slice()?);
        view.map_err(|error| TensorError::NoSlice { why: error.to_string() }.into())
    }
}

impl<'a, T: Elem, S, D: Dimension> TryFrom<&'a Tensor<T, S>> for ArrayView<'a, T, D> {
    type Error = Error;

    /// Of as many axes as the view has.
    fn try_from(tensor: &'a Tensor<T, S>) -> Result<Self, Error> {
        let axes = D::NDIM.unwrap_or(tensor.dims.len());
        let rank = |_| TensorError::Shape {
            dims: tensor.dims.clone(),
            shape: format!("a view of {axes} axes"),
            why: format!("{} dimensions, {axes} axes", tensor.dims.len()),
        };
        Ok(tensor.as_ndarray()?.into_dimensionality().map_err(rank)?)
    }
}

impl<T: Elem, S: TensorShape, D: Dimension> TryFrom<Array<T, D>> for Tensor<T, S> {
    type Error = Error;

    /// Elements that stand in rows stay where they are; others are brought in order.
    fn try_from(array: Array<T, D>) -> Result<Self, Error> {
        let dims = array.shape().to_vec();
        if !array.is_standard_layout() {
            return Tensor::of(dims, array.iter().copied().collect());
        }
        let len = array.len();
        let (mut data, start) = array.into_raw_vec_and_offset();
        let start = start.unwrap_or(0);
        data.truncate(start + len);
        if start > 0 {
            data.drain(..start);
        }
        Tensor::of(dims, data)
    }
}

impl<T: Elem, S: TensorShape, D: Dimension> TryFrom<ArrayView<'_, T, D>> for Tensor<T, S> {
    type Error = Error;

    /// A copy. Calls take views as they are.
    fn try_from(view: ArrayView<'_, T, D>) -> Result<Self, Error> {
        Tensor::of(view.shape().to_vec(), view.iter().copied().collect())
    }
}

/// Arrays of `ndarray` are arguments of calls; those whose elements do not stand in rows are copied.
impl<T: Elem, S: Shape, R: Data<Elem = T>, D: Dimension> Feed<Arr<T, S>> for &ArrayBase<R, D> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        let dims = self.shape().iter().map(|&dim| dim as u64).collect();
        match self.as_slice() {
            Some(data) => out.flat(data, Some(dims)),
            None => out.copied(&self.iter().copied().collect::<Vec<T>>(), dims),
        }
    }
}
