//! Other views of the same elements: transposition, reshaping, rows and columns, concatenation. Parts along an axis are in
//! `along.rs` and `view.rs`.
//!
//! All of it is `tabulate` and `at`; nothing is copied unless a result is asked for.

use crate::arr::{Arr, tabulate_at};
use crate::axis::Either;
use crate::elem::{Elem, tys_of};
use crate::extent::Axis;
use crate::position::Idx;
use crate::record;
use crate::shape::{Flatten, Pos, Shape};
use crate::trace::{Loc, on_behalf};
use std::panic::Location;

impl<T: Elem, A: Axis, B: Axis> Arr<T, (A, B)> {
    /// Rows become columns.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.transpose())?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose(self) -> Arr<T, (B, A)> {
        let at: Loc = Location::caller();
        tabulate_at(at, |(j, i): Pos<(B, A)>| self.element(at, (i, j)))
    }

    /// One row.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn first(x: Arr<f32, (Fix<2>, N)>) -> Arr<f32, N> { x.row(fix::<0, 2>()) }
    /// ```
    #[rustfmt::skip] // See `at`.
    #[track_caller]
    pub fn row(self, i: Idx<A>) -> Arr<T, B> { // a number: `Near::new(k).clamp()`; constants: `fix::<0, 3>()`
        let at: Loc = Location::caller();
        tabulate_at(at, |j: Idx<B>| self.element(at, (i, j)))
    }

    /// One column.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn last(x: Arr<f32, (N, Fix<2>)>) -> Arr<f32, N> { x.column(fix::<1, 2>()) }
    /// ```
    #[rustfmt::skip] // See `at`.
    #[track_caller]
    pub fn column(self, j: Idx<B>) -> Arr<T, A> { // a number: `Near::new(k).clamp()`; constants: `fix::<0, 3>()`
        let at: Loc = Location::caller();
        tabulate_at(at, |i: Idx<A>| self.element(at, (i, j)))
    }
}

impl<T: Elem, A: Axis, B: Axis, C: Axis> Arr<T, (A, B, C)> {
    /// One layer: the matrix at a position of the outermost axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn traces(x: Arr<f32, (N, M, M)>) -> Arr<f32, N> {
    ///     tabulate(|i| { let m = x.layer(i); sum(|j| m.at((j, j))) })
    /// }
    /// ```
    #[rustfmt::skip] // See `at`.
    #[track_caller]
    pub fn layer(self, i: Idx<A>) -> Arr<T, (B, C)> { // a number: `Near::new(k).clamp()`; constants: `fix::<0, 3>()`
        let at: Loc = Location::caller();
        tabulate_at(at, |(j, k): Pos<(B, C)>| self.element(at, (i, j, k)))
    }
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The same elements, in row-major order, in another shape. The sizes must multiply to the same, which is checked
    /// at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, (N, Fix<3>)>| x.reshape::<(Fix<3>, N)>())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.dims(), [3, 2]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape<R: Shape>(self) -> Arr<T, R> {
        let at: Loc = Location::caller();
        Arr::new(record::reshape(at, self.handle(), tys_of::<T>().len(), &S::axes(), &R::axes()))
    }

    /// All axes as one.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.flatten())?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.dims(), [4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn flatten(self) -> Arr<T, S::Flat>
    where
        S: Flatten,
    {
        let at: Loc = Location::caller();
        tabulate_at(at, |p: Idx<S::Flat>| on_behalf(at, || self.element(at, S::unflatten(p))))
    }
}

/// The elements of one array, then those of another.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| concat(x, y))?;
/// assert_eq!(f.call(&[1.0f32], &[2.0f32])?.to_vec()?, [1.0, 2.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn concat<T: Elem, A: Axis, B: Axis>(a: Arr<T, A>, b: Arr<T, B>) -> Arr<T, Either<A, B>> {
    let at: Loc = Location::caller();
    tabulate_at(at, |p: Idx<Either<A, B>>| {
        on_behalf(at, || p.either::<T, _, _>(|i| a.element(at, i), |j| b.element(at, j)))
    })
}

/// Axes of a shape of rank 2 in another order.
///
/// ```
/// use slyz::prelude::*;
/// fn turned<S: slyz::Permute2<1, 0>>(p: Pos<S::Out>) -> Pos<S> { S::back(p) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{I}, {J}` is not an order of the axes of `{Self}`",
    label = "name each axis once, by its number; the outermost is 0"
)]
pub trait Permute2<const I: usize, const J: usize>: Shape {
    /// The shape in that order.
    type Out: Shape;

    /// The position in the order of `Self`.
    fn back(p: Pos<Self::Out>) -> Pos<Self>;
}

/// Axes of a shape of rank 3 in another order.
///
/// ```
/// use slyz::prelude::*;
/// fn turned<S: slyz::Permute3<2, 0, 1>>(p: Pos<S::Out>) -> Pos<S> { S::back(p) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{I}, {J}, {K}` is not an order of the axes of `{Self}`",
    label = "name each axis once, by its number; the outermost is 0"
)]
pub trait Permute3<const I: usize, const J: usize, const K: usize>: Shape {
    /// The shape in that order.
    type Out: Shape;

    /// The position in the order of `Self`.
    fn back(p: Pos<Self::Out>) -> Pos<Self>;
}

/// Axes of a shape of rank 4 in another order.
///
/// ```
/// use slyz::prelude::*;
/// fn turned<S: slyz::Permute4<0, 2, 3, 1>>(p: Pos<S::Out>) -> Pos<S> { S::back(p) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{I}, {J}, {K}, {L}` is not an order of the axes of `{Self}`",
    label = "name each axis once, by its number; the outermost is 0"
)]
pub trait Permute4<const I: usize, const J: usize, const K: usize, const L: usize>: Shape {
    /// The shape in that order.
    type Out: Shape;

    /// The position in the order of `Self`.
    fn back(p: Pos<Self::Out>) -> Pos<Self>;
}

/// One line per order: the numbers, and the axes as they come out.
macro_rules! permute {
    ($Trait:ident $axes:tt: $(<$($i:literal),*> $($out:ident),*;)*) => {
        $(permute!(@ $Trait $axes <$($i),*> $($out),*);)*
    };
    (@ $Trait:ident ($($A:ident),*) <$($i:literal),*> $($B:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($A: Axis),*> $Trait<$($i),*> for ($($A,)*) {
            type Out = ($($B,)*);
            #[allow(non_snake_case)]
            fn back(($($B,)*): Pos<($($B,)*)>) -> Pos<($($A,)*)> { ($($A,)*) }
        }
    };
}
permute! {
    Permute2 (A, B):
    <0, 1> A, B;
    <1, 0> B, A;
}
permute! {
    Permute3 (A, B, C):
    <0, 1, 2> A, B, C;
    <0, 2, 1> A, C, B;
    <1, 0, 2> B, A, C;
    <1, 2, 0> B, C, A;
    <2, 0, 1> C, A, B;
    <2, 1, 0> C, B, A;
}
permute! {
    Permute4 (A, B, C, D):
    <0, 1, 2, 3> A, B, C, D;
    <0, 1, 3, 2> A, B, D, C;
    <0, 2, 1, 3> A, C, B, D;
    <0, 2, 3, 1> A, C, D, B;
    <0, 3, 1, 2> A, D, B, C;
    <0, 3, 2, 1> A, D, C, B;
    <1, 0, 2, 3> B, A, C, D;
    <1, 0, 3, 2> B, A, D, C;
    <1, 2, 0, 3> B, C, A, D;
    <1, 2, 3, 0> B, C, D, A;
    <1, 3, 0, 2> B, D, A, C;
    <1, 3, 2, 0> B, D, C, A;
    <2, 0, 1, 3> C, A, B, D;
    <2, 0, 3, 1> C, A, D, B;
    <2, 1, 0, 3> C, B, A, D;
    <2, 1, 3, 0> C, B, D, A;
    <2, 3, 0, 1> C, D, A, B;
    <2, 3, 1, 0> C, D, B, A;
    <3, 0, 1, 2> D, A, B, C;
    <3, 0, 2, 1> D, A, C, B;
    <3, 1, 0, 2> D, B, A, C;
    <3, 1, 2, 0> D, B, C, A;
    <3, 2, 0, 1> D, C, A, B;
    <3, 2, 1, 0> D, C, B, A;
}

impl<T: Elem, A: Axis, B: Axis> Arr<T, (A, B)> {
    /// The axes in another order: axis number `I` of the array becomes the outermost, and so on.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn turned(x: Arr<f32, (N, M)>) -> Arr<f32, (M, N)> { x.permute_axes::<1, 0>() }
    /// ```
    #[track_caller]
    pub fn permute_axes<const P0: usize, const P1: usize>(self) -> Arr<T, <(A, B) as Permute2<P0, P1>>::Out>
    where
        (A, B): Permute2<P0, P1>,
    {
        let at: Loc = Location::caller();
        tabulate_at(at, |p| self.element(at, <(A, B) as Permute2<P0, P1>>::back(p)))
    }
}

impl<T: Elem, A: Axis, B: Axis, C: Axis> Arr<T, (A, B, C)> {
    /// The axes in another order: axis number `I` of the array becomes the outermost, and so on.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(A, B, C);
    /// let f = compile(|x: Arr<f32, (A, B, C)>| x.permute_axes::<2, 0, 1>())?;
    /// assert_eq!(f.call(&[[[1.0f32, 2.0, 3.0]]])?.dims(), [3, 1, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn permute_axes<const P0: usize, const P1: usize, const P2: usize>(
        self,
    ) -> Arr<T, <(A, B, C) as Permute3<P0, P1, P2>>::Out>
    where
        (A, B, C): Permute3<P0, P1, P2>,
    {
        let at: Loc = Location::caller();
        tabulate_at(at, |p| self.element(at, <(A, B, C) as Permute3<P0, P1, P2>>::back(p)))
    }
}

impl<T: Elem, A: Axis, B: Axis, C: Axis, D: Axis> Arr<T, (A, B, C, D)> {
    /// The axes in another order: axis number `I` of the array becomes the outermost, and so on.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, C, H, W);
    /// fn channels_last(x: Arr<f32, (N, C, H, W)>) -> Arr<f32, (N, H, W, C)> { x.permute_axes::<0, 2, 3, 1>() }
    /// ```
    #[track_caller]
    pub fn permute_axes<const P0: usize, const P1: usize, const P2: usize, const P3: usize>(
        self,
    ) -> Arr<T, <(A, B, C, D) as Permute4<P0, P1, P2, P3>>::Out>
    where
        (A, B, C, D): Permute4<P0, P1, P2, P3>,
    {
        let at: Loc = Location::caller();
        tabulate_at(at, |p| self.element(at, <(A, B, C, D) as Permute4<P0, P1, P2, P3>>::back(p)))
    }
}
