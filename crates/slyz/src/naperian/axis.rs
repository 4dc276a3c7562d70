//! A dimension is an axis: the tower of this module decides how kernels are addressed.
//!
//! Whatever is a [`Dimension`] on the host, a derived struct, a product or a composition, can be an axis of an
//! [`Arr`](crate::Arr). Its elements lie in the order of the container's, so a position is a number below `SIZE` on the device and a
//! `Log` on the host. Nothing here computes: positions are taken apart as those of the axes `Flat` and `Either` are.

use super::{Array, Compose, Dimension, Id, Of, Pair};
use crate::axis::{Either, Flat};
use crate::elem::{Elem, Lift};
use crate::error::{Error, TensorError};
use crate::extent::Axis;
use crate::position::Idx;
use crate::tensor::Tensor;

/// Makes a dimension an axis. It is no implementation for all dimensions at once, which rustc would name to whoever forgets that a
/// type must be an axis.
#[doc(hidden)]
#[macro_export]
macro_rules! __dimension_axis {
    ([$($generics:tt)*] $Family:ty) => {
        #[automatically_derived]
        impl<$($generics)*> $crate::Axis for $Family {
            fn size() -> $crate::Extent {
                $crate::Extent::fixed(<Self as $crate::naperian::Dimension>::SIZE as u64)
            }
            fn name() -> ::std::string::String {
                $crate::__private::without_paths(::core::any::type_name::<Self>())
            }
        }
        #[automatically_derived]
        impl<$($generics)*> $crate::EnumAxis for $Family {
            type Case = <Self as $crate::naperian::Naperian>::Log;
            fn all() -> ::std::vec::Vec<Self::Case> {
                $crate::__private::logs::<Self>()
            }
            fn number(case: &Self::Case) -> usize {
                $crate::__private::log_number::<Self>(case)
            }
        }
    };
}
__dimension_axis!([] Id);
__dimension_axis!([const N: usize] Array<N>);
__dimension_axis!([F: Dimension, G: Dimension] Pair<F, G>);
__dimension_axis!([F: Dimension, G: Dimension] Compose<F, G>);

/// All positions, in order.
pub fn logs<F: Dimension>() -> Vec<F::Log> {
    F::to_list::<F::Log>(F::positions())
}

/// Which position it is.
pub fn log_number<F: Dimension>(log: &F::Log) -> usize {
    logs::<F>().iter().position(|other| other == log).unwrap_or(usize::MAX)
}

/// `a::B<c::D>` as `B<D>`.
pub fn without_paths(name: &str) -> String {
    let of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = name.split_inclusive(|c| !of_path(c));
    words.map(|word| word.rsplit("::").next().unwrap_or(word)).collect()
}

/// `Log (f ∘ g) = Log f × Log g`, on devices too.
impl<F: Dimension, G: Dimension> Idx<Compose<F, G>> {
    /// The position of the inner container, and the one inside it.
    ///
    /// ```
    /// use slyz::naperian::Array2;
    /// use slyz::prelude::*;
    /// let f = compile(|x: Arr<i32, Array2<2, 2>>| x.map_at(|p, v| { let (i, j) = p.both(); i.eq(j).select(v, 0) }))?;
    /// assert_eq!(f.call(&[1, 2, 3, 4])?.to_vec()?, [1, 0, 0, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn both(self) -> (Idx<F>, Idx<G>) {
        Idx::<Flat<F, G>>::new(self.handle()).both()
    }

    /// The position `inner` in the container at `outer`.
    ///
    /// ```
    /// use slyz::naperian::Array2;
    /// use slyz::prelude::*;
    /// // Rows of two as one axis, read column by column.
    /// let f = compile(|x: Arr<i32, Array2<2, 3>>| {
    ///     tabulate(|p: Idx<Array2<3, 2>>| { let (i, j) = p.both(); x.at(Idx::inside(j, i)) })
    /// })?;
    /// assert_eq!(f.call(&[1, 2, 3, 4, 5, 6])?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn inside(outer: Idx<F>, inner: Idx<G>) -> Self {
        Idx::new(Idx::<Flat<F, G>>::flat(outer, inner).handle())
    }
}

/// `Log (f × g) = Log f + Log g`, on devices too.
impl<F: Dimension, G: Dimension> Idx<Pair<F, G>> {
    /// Case analysis: one closure per container, of which one runs.
    ///
    /// ```
    /// use slyz::naperian::{Array, Pair};
    /// use slyz::prelude::*;
    /// let f = compile(|x: Arr<i32, Array<2>>| tabulate(|p: Idx<Pair<Array<2>, Array<1>>>| p.either(|i| x.at(i), |_| 0)))?;
    /// assert_eq!(f.call(&[1, 2])?.to_vec()?, [1, 2, 0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn either<T: Elem, L: Lift<T>, R: Lift<T>>(
        self,
        first: impl Fn(Idx<F>) -> L,
        second: impl Fn(Idx<G>) -> R,
    ) -> T::Exp {
        Idx::<Either<F, G>>::new(self.handle()).either(first, second)
    }
}

impl<T: Elem, F: Dimension> Tensor<T, F> {
    /// The elements of a container.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// use slyz::{compile, Arr, Tensor};
    /// let f = compile(|x: Arr<i32, Pair<Array<2>, Array<1>>>| x.sum())?;
    /// assert_eq!(f.call(&Tensor::from_container(([1, 2], [3]))?)?.value()?, 6);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_container(container: Of<F, T>) -> Result<Self, Error> {
        Tensor::from_vec([F::SIZE], F::to_list::<T>(container))
    }

    /// The container with these elements.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// use slyz::{compile, Arr, Tensor};
    /// let f = compile(|x: Arr<i32, Array2<1, 2>>| x * 2)?;
    /// assert_eq!(f.call(&[1, 2])?.to_container()?, [[2, 4]]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_container(&self) -> Result<Of<F, T>, Error> {
        container::<F, T>(self.to_vec()?)
    }
}

impl<T: Elem, A: Axis, F: Dimension> Tensor<T, (A, F)> {
    /// The elements of many containers: one row for each.
    ///
    /// ```
    /// use slyz::naperian::Naperian;
    /// use slyz::prelude::*;
    /// axis!(N);
    /// #[derive(Clone, Copy, Naperian)]
    /// struct Point<T> { x: T, y: T }
    /// let f = compile(|points: Arr<f32, (N, PointFamily)>| (points * points).innermost().sum().sqrt())?;
    /// let points = Tensor::from_containers([Point { x: 3.0, y: 4.0 }, Point { x: 0.0, y: 1.0 }])?;
    /// assert_eq!(f.call(&points)?.to_vec()?, [5.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn from_containers(containers: impl IntoIterator<Item = Of<F, T>>) -> Result<Self, Error> {
        let rows: Vec<Vec<T>> = containers.into_iter().map(|row| F::to_list::<T>(row)).collect();
        Tensor::from_vec([rows.len(), F::SIZE], rows.concat())
    }

    /// One container for each row.
    ///
    /// ```
    /// use slyz::naperian::Naperian;
    /// use slyz::prelude::*;
    /// axis!(N);
    /// #[derive(Clone, Copy, Debug, PartialEq, Naperian)]
    /// struct Point<T> { x: T, y: T }
    /// let f = compile(|points: Arr<f32, (N, PointFamily)>| points + 1.0)?;
    /// let moved = f.call(&[[3.0f32, 4.0]])?.to_containers()?;
    /// assert_eq!(moved, [Point { x: 4.0, y: 5.0 }]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_containers(&self) -> Result<Vec<Of<F, T>>, Error> {
        if F::SIZE == 0 {
            let rows = self.dims().first().copied().unwrap_or(0);
            return (0..rows).map(|_| container::<F, T>(vec![])).collect();
        }
        self.to_vec()?.chunks(F::SIZE).map(|row| container::<F, T>(row.to_vec())).collect()
    }
}

/// The container with these elements, which must be as many as it has positions.
fn container<F: Dimension, T>(elements: Vec<T>) -> Result<Of<F, T>, Error> {
    let found = elements.len() as u64;
    let length = TensorError::Length { dims: vec![F::SIZE], expected: F::SIZE as u64, found };
    Ok(F::from_list(elements).ok_or(length)?)
}
