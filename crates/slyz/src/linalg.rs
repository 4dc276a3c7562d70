//! Products of vectors and matrices.
//!
//! Each is one contraction: a table tells which axes of the result, and of what is summed over, an array goes along; what is recorded
//! is the same for all.

use crate::arr::Arr;
use crate::elem::{Exp, Num, Seal};
use crate::extent::Extent;
use crate::record::{self, MonoidParts, apply, constant, read};
use crate::shape::{OneAxis, Shape};
use crate::trace::{Handle, Loc, Ty, here};
use crate::{Axis, fold::fold_at, monoid::Sum};
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar;
use std::panic::Location;

/// Shapes whose matrices are multiplied: the last axis of the left one is the last but one of the right one, and axes before them are
/// the same in both, or the left one's. A vector on the left is a row, on the right a column.
///
/// | left | right | result |
/// |---|---|---|
/// | `(A, B)` | `(B, C)` | `(A, C)` |
/// | `(A, B)` | `B` | `A` |
/// | `A` | `(A, B)` | `B` |
/// | `(N, A, B)` | `(N, B, C)` or `(B, C)` | `(N, A, C)` |
/// | `(N, M, A, B)` | `(N, M, B, C)` or `(B, C)` | `(N, M, A, C)` |
///
/// ```
/// use slyz::prelude::*;
/// use slyz::MatMul;
/// fn product<L: MatMul<R>, R: Shape>(a: Arr<f32, L>, b: Arr<f32, R>) -> Arr<f32, L::Out> { a.matmul(b) }
/// ```
#[diagnostic::on_unimplemented(
    message = "arrays of shapes `{Self}` and `{R}` have no matrix product",
    label = "the last axis on the left must be the last but one on the right, as in `(N, K)` and `(K, M)`",
    note = "`x.transpose()` swaps the axes of a matrix; other products are written `einsum!(\"ij,kj->ik\", a, b)`"
)]
pub trait MatMul<R: Shape>: Shape {
    /// The shape of the product.
    type Out: Shape;

    #[doc(hidden)]
    fn meeting() -> Meeting;

    #[doc(hidden)]
    fn matmul_seal() -> Seal;
}

/// Which places of a position of the result, then of what is summed over, each operand is read at.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Meeting {
    left: &'static [usize],
    right: &'static [usize],
}

macro_rules! products {
    ($($($A:ident)* [$L:ty] [$R:ty] [$Out:ty] [$($l:literal)*] [$($r:literal)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($A: Axis),*> MatMul<$R> for $L {
            type Out = $Out;
            fn meeting() -> Meeting { Meeting { left: &[$($l),*], right: &[$($r),*] } }
            fn matmul_seal() -> Seal { Seal::THIS }
        }
    )*};
}
products! {
    A B C [(A, B)] [(B, C)] [(A, C)] [0 2] [2 1];
    A B [(A, B)] [B] [A] [0 1] [1];
    A B [A] [(A, B)] [B] [1] [1 0];
    N A B C [(N, A, B)] [(N, B, C)] [(N, A, C)] [0 1 3] [0 3 2];
    N A B C [(N, A, B)] [(B, C)] [(N, A, C)] [0 1 3] [3 2];
    N M A B C [(N, M, A, B)] [(N, M, B, C)] [(N, M, A, C)] [0 1 2 4] [0 1 4 3];
    N M A B C [(N, M, A, B)] [(B, C)] [(N, M, A, C)] [0 1 2 4] [4 3];
}

/// The products of two arrays of that type at each position of the result, summed over an axis.
fn contract(at: Loc, ty: Ty, result: &[Extent], over: &Extent, both: [(Handle, &[usize]); 2]) -> Handle {
    let at = here(at);
    record::tabulate(at, result, &mut |position| {
        let parts = MonoidParts {
            neutral: vec![constant(at, Scalar::from_int(ty, 0))],
            tys: vec![ty],
            combine: &mut |both| vec![apply(at, Operator::Add, both)],
            commutative: true,
        };
        let product = &mut |summed: &[Handle]| {
            let places = [position, summed].concat();
            let factor = |(array, numbers): (Handle, &[usize])| {
                let place: Vec<Handle> = numbers.iter().map(|&number| places[number]).collect();
                read(at, array, 1, &place)[0]
            };
            vec![apply(at, Operator::Mul, &both.map(factor))]
        };
        record::fold(at, std::slice::from_ref(over), product, parts)
    })
}

impl<T: Num, S: Shape> Arr<T, S> {
    /// The product of two matrices, of a matrix and a vector, or of stacks of matrices: see [`MatMul`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M, K);
    /// let f = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>, x: Arr<f32, K>| (a.matmul(b), a.matmul(x)))?;
    /// let (matrix, vector) = f.call(&[[1.0f32, 2.0]], &[[3.0f32], [4.0]], &[1.0f32, 1.0])?;
    /// assert_eq!((matrix.to_vec()?, vector.to_vec()?), (vec![11.0], vec![3.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<R: Shape>(self, other: Arr<T, R>) -> Arr<T, S::Out>
    where
        S: MatMul<R>,
    {
        let at: Loc = Location::caller();
        let axes = S::axes();
        let Meeting { left, right } = S::meeting();
        let over = axes.last().cloned().unwrap_or(Extent::fixed(1));
        let both = [(self.handle(), left), (other.handle(), right)];
        Arr::new(contract(at, T::TY, &<S::Out as Shape>::axes(), &over, both))
    }

    /// The sum of the products of elements at the same position.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| x.dot(y))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0], &[3.0f32, 4.0])?.value()?, 11.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn dot(self, other: Arr<T, S>) -> Exp<T> {
        let at: Loc = Location::caller();
        fold_at::<S, T, _>(at, &Sum, |p| {
            let pair = [self.element(at, p).handle(), other.element(at, p).handle()];
            Exp::<T>::new(apply(at, Operator::Mul, &pair))
        })
    }

    /// The products of each element of one vector and each of another.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| x.outer(y))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0], &[3.0f32, 4.0])?.to_vec()?, [3.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn outer<B: OneAxis>(self, other: Arr<T, B>) -> Arr<T, (S, B)>
    where
        S: OneAxis,
    {
        let at: Loc = Location::caller();
        Arr::new(record::tabulate(at, &<(S, B)>::axes(), &mut |position| {
            let left = read(at, self.handle(), 1, &position[..1])[0];
            let right = read(at, other.handle(), 1, &position[1..])[0];
            vec![apply(at, Operator::Mul, &[left, right])]
        }))
    }
}

/// The product of two matrices, of a matrix and a vector, or of stacks of matrices: see [`MatMul`].
///
/// ```
/// use slyz::prelude::*;
/// axis!(B, N, M, K);
/// fn layers(x: Arr<f32, (B, N, K)>, w: Arr<f32, (B, K, M)>) -> Arr<f32, (B, N, M)> { matmul(x, w) }
/// ```
#[track_caller]
pub fn matmul<T: Num, L: MatMul<R>, R: Shape>(a: Arr<T, L>, b: Arr<T, R>) -> Arr<T, L::Out> {
    a.matmul(b)
}

/// The sum of the products of elements at the same position.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// fn cosine(x: Arr<f32, N>, y: Arr<f32, N>) -> Exp<f32> { dot(x, y) / (x.norm() * y.norm()) }
/// ```
#[track_caller]
pub fn dot<T: Num, S: Shape>(a: Arr<T, S>, b: Arr<T, S>) -> Exp<T> {
    a.dot(b)
}

/// The products of each element of one vector and each of another.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// fn table(x: Arr<u32, N>, y: Arr<u32, M>) -> Arr<u32, (N, M)> { outer(x, y) }
/// ```
#[track_caller]
pub fn outer<T: Num, A: OneAxis, B: OneAxis>(a: Arr<T, A>, b: Arr<T, B>) -> Arr<T, (A, B)> {
    a.outer(b)
}
