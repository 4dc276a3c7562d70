//! Parts and repetitions along an axis: windows, strides, margins, circles, copies, one after another.
//!
//! All of it is a place computed from a place, so nothing is copied unless a result is asked for; what is recorded is in `lines.rs`.
#![allow(clippy::type_complexity)] // what becomes of an axis is what these types tell

use crate::along::Along;
use crate::arr::Arr;
use crate::axis::{Either, Flat, Padded, Stride};
use crate::elem::{Elem, Lift, handles};
use crate::extent::{Axis, Extent};
use crate::lines::Roll;
use crate::position::{Around, Offset};
use crate::shape::{HasAxis, Innermost, Insert, OneAxis, Shape};
use crate::trace::{Handle, Loc};
use std::panic::Location;

/// The shape `S` with the axis `X` at the place `P`, instead of its own.
type With<S, P, X> = <<S as HasAxis<P>>::Rest as Insert<X, P>>::Out;

/// The number of a place around one axis.
#[track_caller]
fn number<A: Axis>(place: impl Around<A>) -> Handle {
    let mut spots = vec![];
    place.spots(&mut spots);
    spots.first().map_or(Handle::POISON, |spot| spot.number)
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// `K` elements along the axis, from a computed `start` on: a position or a number. Where there are fewer it starts earlier, so
    /// that they are all there; that the axis has `K` is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>, k: Exp<i32>| x.over(M).window::<Fix<2>>(k))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0, 3.0]], 0)?.to_vec()?, [1.0, 2.0]);
    /// assert_eq!(f.call(&[[1.0f32, 2.0, 3.0]], 9)?.to_vec()?, [2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "dynamic_slice")]
    #[track_caller]
    pub fn window<K: Axis>(self, start: impl Around<S::Axis>) -> Arr<T, With<S, P, K>>
    where
        S::Rest: Insert<K, P>,
    {
        let start = number(start);
        Arr::new(self.lines().window(Location::caller(), &Extent::of::<K>(), start))
    }

    /// `K` elements along the axis, each `step` after the one before, from `start` on. That they are there is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).slice_by::<Fix<2>>(1, 2))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0, 3.0, 4.0]])?.to_vec()?, [2.0, 4.0]);
    /// assert!(f.call(&[[1.0f32, 2.0, 3.0]]).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_by<K: Axis>(self, start: u64, step: u64) -> Arr<T, With<S, P, K>>
    where
        S::Rest: Insert<K, P>,
    {
        Arr::new(self.lines().strided(Location::caller(), &Extent::of::<K>(), start, step))
    }

    /// The first of each `STEP` elements along the axis, as `Iterator::step_by`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn half(x: Arr<f32, (N, M)>) -> Arr<f32, (N, Stride<M, 2>)> { x.over(M).step_by::<2>() }
    /// assert_eq!(compile(half)?.call(&[[1.0f32, 2.0, 3.0]])?.to_vec()?, [1.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn step_by<const STEP: usize>(self) -> Arr<T, With<S, P, Stride<S::Axis, STEP>>>
    where
        S::Rest: Insert<Stride<S::Axis, STEP>, P>,
    {
        Arr::new(self.lines().every(Location::caller(), STEP as u64))
    }

    /// `value` as many times as `Before` has positions, the elements along the axis, and `value` as many times as `After` has.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).pad::<Fix<1>, Fix<2>>(9.0))?;
    /// assert_eq!(f.call(&[[1.0f32], [2.0]])?.to_vec()?, [9.0, 1.0, 9.0, 9.0, 9.0, 2.0, 9.0, 9.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn pad<Before: Axis, After: Axis>(
        self,
        value: impl Lift<T>,
    ) -> Arr<T, With<S, P, Padded<Before, S::Axis, After>>>
    where
        S::Rest: Insert<Padded<Before, S::Axis, After>, P>,
    {
        let at: Loc = Location::caller();
        let value = handles(value.lift());
        Arr::new(self.lines().pad(at, &Extent::of::<Before>(), &Extent::of::<After>(), &value))
    }

    /// The elements moved `by` places on along the axis; those that leave at the end come back at the start.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>, k: Exp<i32>| (x.over(M).roll(1), x.over(M).roll(k)))?;
    /// let (on, back) = f.call(&[[1.0f32, 2.0, 3.0]], -1)?;
    /// assert_eq!((on.to_vec()?, back.to_vec()?), (vec![3.0, 1.0, 2.0], vec![2.0, 3.0, 1.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "rotate")]
    #[track_caller]
    pub fn roll(self, by: impl Offset) -> Arr<T, S> {
        let by = match by.constant() {
            Some(by) => Roll::Constant(by),
            None => Roll::Computed(by.steps().handle()),
        };
        Arr::new(self.lines().roll(Location::caller(), by))
    }

    /// The elements moved `by` places on along the axis; those that leave at the end are gone, and `fill` stands where none comes from. Around
    /// the end they go with [`roll`](Along::roll).
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>, k: Exp<i32>| (x.over(M).shift(1, 0.0), x.over(M).shift(k, 9.0)))?;
    /// let (on, back) = f.call(&[[1.0f32, 2.0, 3.0]], -1)?;
    /// assert_eq!((on.to_vec()?, back.to_vec()?), (vec![0.0, 1.0, 2.0], vec![2.0, 3.0, 9.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn shift(self, by: impl Offset, fill: impl Lift<T>) -> Arr<T, S> {
        let by = by.steps().handle();
        let fill = handles(fill.lift());
        Arr::new(self.lines().shift(Location::caller(), by, &fill))
    }

    /// Each element along the axis as many times as `K` has positions, one beside the other.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).repeat::<Fix<2>>())?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0]])?.to_vec()?, [1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat<K: Axis>(self) -> Arr<T, With<S, P, Flat<S::Axis, K>>>
    where
        S::Rest: Insert<Flat<S::Axis, K>, P>,
    {
        Arr::new(self.lines().repeat(Location::caller(), &Extent::of::<K>()))
    }

    /// The elements along the axis, all of them, as many times as `K` has positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).tile::<Fix<2>>())?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0]])?.to_vec()?, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn tile<K: Axis>(self) -> Arr<T, With<S, P, Flat<K, S::Axis>>>
    where
        S::Rest: Insert<Flat<K, S::Axis>, P>,
    {
        Arr::new(self.lines().tile(Location::caller(), &Extent::of::<K>()))
    }

    /// The elements along the axis, then those of another array along its axis at the same place; the other axes are the same.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M, K);
    /// let f = compile(|x: Arr<f32, (N, M)>, y: Arr<f32, (N, K)>| x.over(M).concat(y))?;
    /// assert_eq!(f.call(&[[1.0f32], [2.0]], &[[3.0f32], [4.0]])?.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn concat<R>(self, other: Arr<T, R>) -> Arr<T, With<S, P, Either<S::Axis, R::Axis>>>
    where
        R: HasAxis<P, Rest = S::Rest>, // all axes but this one must be the same
        S::Rest: Insert<Either<S::Axis, R::Axis>, P>,
    {
        Arr::new(self.lines().concat(Location::caller(), &other.along::<P>().lines()))
    }

    /// Both parts of an axis that is one after another: what was there before [`concat`](Along::concat).
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, Either<Fix<1>, M>)>| x.axis::<1>().split())?;
    /// let (first, rest) = f.call(&[[1.0f32, 2.0, 3.0]])?;
    /// assert_eq!((first.to_vec()?, rest.to_vec()?), (vec![1.0], vec![2.0, 3.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn split<A: Axis, B: Axis>(self) -> (Arr<T, With<S, P, A>>, Arr<T, With<S, P, B>>)
    where
        S: HasAxis<P, Axis = Either<A, B>>, // `Either` tells where to split; parts of other axes are `slice`s
        S::Rest: Insert<A, P> + Insert<B, P>,
    {
        let at: Loc = Location::caller();
        let first = self.lines().view(at, &Extent::of::<A>(), &|place| place);
        let second = self.lines().after(at, &Extent::of::<A>(), &Extent::of::<B>());
        (Arr::new(first), Arr::new(second))
    }
}

/// The same for arrays of one axis, where there is nothing to choose.
impl<T: Elem, S: Shape> Arr<T, S> {
    /// `K` elements of an array of one axis, from a computed `start` on, or from the last place from which they are all there.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.window::<Fix<2>>(i).sum()))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 4.0])?.to_vec()?, [3.0, 6.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "dynamic_slice")]
    #[track_caller]
    pub fn window<K: Axis>(self, start: impl Around<S>) -> Arr<T, K>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().window::<K>(start)
    }

    /// `K` elements of an array of one axis, each `step` after the one before, from `start` on.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.slice_by::<Fix<2>>(0, 3))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0, 4.0])?.to_vec()?, [1.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_by<K: Axis>(self, start: u64, step: u64) -> Arr<T, K>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().slice_by::<K>(start, step)
    }

    /// The first of each `STEP` elements of an array of one axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.step_by::<2>())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [1.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn step_by<const STEP: usize>(self) -> Arr<T, Stride<S, STEP>>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().step_by::<STEP>()
    }

    /// An array of one axis between copies of `value`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.pad::<Fix<1>, Fix<2>>(0.0))?;
    /// assert_eq!(f.call(&[1.0f32])?.to_vec()?, [0.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn pad<Before: Axis, After: Axis>(self, value: impl Lift<T>) -> Arr<T, Padded<Before, S, After>>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().pad::<Before, After>(value)
    }

    /// The elements of an array of one axis moved `by` places on, around the end.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.roll(-1))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [2.0, 3.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "rotate")]
    #[track_caller]
    pub fn roll(self, by: impl Offset) -> Arr<T, S>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().roll(by)
    }

    /// The elements of an array of one axis moved `by` places on, with `fill` where none comes from.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x - x.shift(1, 0.0))?;
    /// assert_eq!(f.call(&[1.0f32, 3.0, 6.0])?.to_vec()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn shift(self, by: impl Offset, fill: impl Lift<T>) -> Arr<T, S>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().shift(by, fill)
    }

    /// Each element of an array of one axis as many times as `K` has positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.repeat::<Fix<2>>())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat<K: Axis>(self) -> Arr<T, Flat<S, K>>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().repeat::<K>()
    }

    /// All elements of an array of one axis, as many times as `K` has positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.tile::<Fix<2>>())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn tile<K: Axis>(self) -> Arr<T, Flat<K, S>>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().tile::<K>()
    }
}
