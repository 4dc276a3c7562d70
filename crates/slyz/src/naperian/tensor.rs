//! Between [`Hyper`] values, whose sizes are in their types, and tensors, whose sizes are known when the program runs.

use super::{Hyper, Shapely};
use crate::elem::Elem;
use crate::error::{Error, TensorError};
use crate::tensor::{Dyn, Tensor, TensorShape};

impl<Fs: Shapely, T: Elem> Hyper<Fs, T> {
    /// A tensor with the same elements, one axis per dimension. The names of the axes are the caller's choice; fixed
    /// extents, and axes that occur twice, are checked.
    ///
    /// ```
    /// use slyz::naperian::{dims, hyper, Array, Hyper};
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.transpose())?;
    /// let y = f.call(&hyper([[1.0f32, 2.0, 3.0]]).to_tensor::<(N, M)>()?)?;
    /// let y = Hyper::<dims![Array<3>, Array<1>], f32>::from_tensor(&y)?;
    /// assert_eq!(y.into_inner(), [[1.0], [2.0], [3.0]]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_tensor<S: TensorShape>(&self) -> Result<Tensor<T, S>, Error> {
        let sizes = Fs::sizes();
        S::check(&sizes)?;
        let elements: Vec<T> = self.each_ref().to_list().into_iter().copied().collect();
        let flat = Tensor::<T, Dyn>::from_vec([elements.len()], elements)?;
        let leaves = flat.buffers().map(|(leaf, _)| leaf.clone()).collect();
        Ok(Tensor::from_leaves(sizes, leaves, vec![]))
    }

    /// The elements of a tensor, if its extents are the sizes of the dimensions.
    ///
    /// ```
    /// use slyz::naperian::{dims, hyper, Array, Hyper};
    /// use slyz::Tensor;
    /// let t: Tensor<i32> = Tensor::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// type Square = Hyper<dims![Array<2>, Array<2>], i32>;
    /// assert_eq!(Square::from_tensor(&t)?, hyper([[1, 2], [3, 4]]));
    /// let error = Hyper::<dims![Array<4>], i32>::from_tensor(&t).unwrap_err();
    /// assert!(error.to_string().contains("[2, 2]"));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_tensor<S>(tensor: &Tensor<T, S>) -> Result<Self, Error> {
        let sizes = Fs::sizes();
        if tensor.dims() != sizes {
            let why = "a `Hyper` has one dimension of exactly that size per axis".to_owned();
            return Err(TensorError::Shape { dims: tensor.dims().to_vec(), shape: format!("{sizes:?}"), why }.into());
        }
        let list = tensor.to_vec()?;
        let length = TensorError::Length { dims: sizes, expected: Fs::SIZE as u64, found: list.len() as u64 };
        Ok(Hyper::from_list(list).ok_or(length)?)
    }
}

impl<Fs: Shapely, T: Elem, S> TryFrom<&Tensor<T, S>> for Hyper<Fs, T> {
    type Error = Error;

    /// See [`Hyper::from_tensor`].
    fn try_from(tensor: &Tensor<T, S>) -> Result<Self, Error> {
        Hyper::from_tensor(tensor)
    }
}
