//! Arrays in segments: scans that start again, and folds of each segment.
//!
//! A scan of a segmented array is a scan of pairs, of which the first says whether a segment starts within: so it is as parallel as any
//! scan, however long the segments are. A fold is the last element of such a scan.

use crate::along::Along;
use crate::arr::{Arr, tabulate};
use crate::axis::{Either, Fix};
use crate::elem::{Elem, Exp, Int, lit};
use crate::extent::Axis;
use crate::monoid::{MaxOf, Monoid, Sum};
use crate::position::{Idx, Near};
use crate::scatter::scatter;
use crate::shape::HasAxis;
use crate::trace::on_behalf;
use std::panic::Location;

/// Segments on the axis `S` of an array on another axis, by where they start and end: [by offsets](Segments::by_offsets), as rows of
/// sparse matrices are stored, or [by lengths](Segments::by_lengths). Whatever is outside of the array is dropped.
///
/// ```
/// use slyz::prelude::*;
/// axis!(Rows, N, M);
/// // A sparse matrix times a vector.
/// fn product(starts: Arr<u32, Either<Rows, Fix<1>>>, column: Arr<At<M>, N>, value: Arr<f32, N>, x: Arr<f32, M>) -> Arr<f32, Rows> {
///     tabulate(|k: Idx<N>| value.at(k) * x.at(column.at(k))).segmented_fold(Sum, Segments::by_offsets(starts))
/// }
/// let columns = [0, 1, 1].map(At::new);
/// let y = compile(product)?.call(&[0, 2, 2, 3], &columns, &[1.0f32, 2.0, 3.0], &[10.0f32, 100.0])?;
/// assert_eq!(y.to_vec()?, [210.0, 0.0, 300.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments<S: Axis> {
    starts: Arr<i64, S>,
    ends: Arr<i64, S>,
}

impl<S: Axis> Clone for Segments<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Axis> Copy for Segments<S> {}

impl<S: Axis> Segments<S> {
    /// Each segment goes from one offset up to the next, so there is one offset more than there are segments. Offsets do not fall.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, S);
    /// let f = compile(|x: Arr<i32, N>, offsets: Arr<u32, Either<S, Fix<1>>>| {
    ///     x.segmented_fold(MaxOf, Segments::by_offsets(offsets))
    /// })?;
    /// assert_eq!(f.call(&[3, 1, 4, 1, 5], &[0, 2, 5])?.to_vec()?, [3, 5]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn by_offsets<T: Int>(offsets: Arr<T, Either<S, Fix<1>>>) -> Segments<S> {
        on_behalf(Location::caller(), || {
            let numbers = offsets.cast::<i64>();
            let starts = tabulate(|s: Idx<S>| numbers.at(Idx::left(s)));
            let ends = tabulate(|s: Idx<S>| numbers.at((Idx::<Either<S, Fix<1>>>::left(s) + 1).clamp()));
            Segments { starts, ends }
        })
    }

    /// One segment behind the other, each of its length.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, S);
    /// let f = compile(|x: Arr<i32, N>, lengths: Arr<u32, S>| x.segmented_scan(Sum, Segments::by_lengths(lengths)))?;
    /// assert_eq!(f.call(&[1, 1, 1, 1, 1], &[2, 0, 3])?.to_vec()?, [1, 2, 1, 2, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn by_lengths<T: Int>(lengths: Arr<T, S>) -> Segments<S> {
        on_behalf(Location::caller(), || {
            let lengths = lengths.cast::<i64>();
            let ends = lengths.scan(Sum);
            Segments { starts: ends - lengths, ends }
        })
    }
}

/// Where segments of an array on the axis `A` start: `Arr<bool, A>`, which is true there, or [`Segments`].
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Heads;
/// axis!(N);
/// fn restarted(x: Arr<f32, N>, segments: impl Heads<N>) -> Arr<f32, N> { x.segmented_scan(Sum, segments) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not tell segments of an array on the axis `{A}`",
    label = "expected an `Arr<bool, {A}>` that is true where segments start, `Segments::by_offsets(..)` or `Segments::by_lengths(..)`"
)]
pub trait Heads<A: Axis> {
    /// Where segments start.
    fn heads(self) -> Arr<bool, A>;
}

impl<A: Axis> Heads<A> for Arr<bool, A> {
    fn heads(self) -> Arr<bool, A> {
        self
    }
}

impl<A: Axis, S: Axis> Heads<A> for Segments<S> {
    /// Elements behind a segment and before the next one are in none, so they start one of their own.
    fn heads(self) -> Arr<bool, A> {
        // As integers, of which machines have atomics.
        let starts: Arr<u32, A> = scatter(MaxOf, |s: Idx<S>| (Near::new(self.starts.at(s)), 1u32));
        let both = starts.scatter(MaxOf, |s: Idx<S>| (Near::new(self.ends.at(s)), 1u32));
        both.ne(0)
    }
}

/// Segments whose folds are on the axis `S`: for `Arr<bool, A>` any axis, whose extent is counted, for [`Segments`] theirs.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Segmented;
/// axis!(N, S);
/// fn totals(x: Arr<f32, N>, segments: impl Segmented<N, S>) -> Arr<f32, S> { x.segmented_fold(Sum, segments) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not tell segments `{S}` of an array on the axis `{A}`",
    label = "expected an `Arr<bool, {A}>` that is true where segments start, `Segments::by_offsets(..)` or `Segments::by_lengths(..)`"
)]
pub trait Segmented<A: Axis, S: Axis>: Heads<A> + Copy {
    /// The element of each segment that ends it, or `empty`.
    fn lasts<T: Elem>(self, scanned: Arr<T, A>, empty: T::Exp) -> Arr<T, S>;
}

impl<A: Axis, S: Axis> Segmented<A, S> for Arr<bool, A> {
    fn lasts<T: Elem>(self, scanned: Arr<T, A>, _: T::Exp) -> Arr<T, S> {
        scanned.filter_at::<S>(|i, _| self.at_or(i + 1, true))
    }
}

impl<A: Axis, S: Axis> Segmented<A, S> for Segments<S> {
    fn lasts<T: Elem>(self, scanned: Arr<T, A>, empty: T::Exp) -> Arr<T, S> {
        tabulate(|s: Idx<S>| {
            let end = self.ends.at(s).min(Idx::<A>::extent());
            let holds = self.starts.at(s).max(0).lt(end);
            holds.select(scanned.get(end - 1).or(empty), empty)
        })
    }
}

/// The monoid of a scan that starts again: does a segment start within, and what is combined since the last one that does?
struct Restarting<M>(M);

impl<T: Elem, M: Monoid<T>> Monoid<(bool, T)> for Restarting<M> {
    fn unit(&self) -> (Exp<bool>, T::Exp) {
        (lit(false), self.0.unit())
    }
    fn op(&self, (starts, before): (Exp<bool>, T::Exp), (again, behind): (Exp<bool>, T::Exp)) -> (Exp<bool>, T::Exp) {
        (starts | again, again.select(behind, self.0.op(before, behind)))
    }
}

impl<T: Elem, A: Axis> Arr<T, A> {
    /// Inclusive prefixes of each segment. `segments` is an array of `bool` that is true where segments start, or [`Segments`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>, starts: Arr<bool, N>| x.segmented_scan(Sum, starts))?;
    /// assert_eq!(f.call(&[1, 2, 3, 4], &[true, false, true, false])?.to_vec()?, [1, 3, 3, 7]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn segmented_scan(self, m: impl Monoid<T>, segments: impl Heads<A>) -> Arr<T, A> {
        on_behalf(Location::caller(), || segments.heads().zip(self).scan(Restarting(m)).map(|(_, combined)| combined))
    }

    /// The elements of each segment combined, on the axis `S`. Where an array of `bool` tells the segments `S` is any axis, and its extent is
    /// counted while the function runs; the first element starts a segment, whatever is said of it.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, S);
    /// let f = compile(|x: Arr<i32, N>, starts: Arr<bool, N>| x.segmented_fold::<S>(Sum, starts))?;
    /// assert_eq!(f.call(&[1, 2, 3, 4], &[true, false, true, false])?.to_vec()?, [3, 7]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn segmented_fold<S: Axis>(self, m: impl Monoid<T>, segments: impl Segmented<A, S>) -> Arr<T, S> {
        on_behalf(Location::caller(), || {
            let empty = m.unit();
            segments.lasts(self.segmented_scan(m, segments), empty)
        })
    }
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// Inclusive prefixes along the axis that start again wherever `starts` is true; see [`Arr::segmented_scan`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, (N, M)>, starts: Arr<bool, (N, M)>| x.over(M).segmented_scan(Sum, starts))?;
    /// let starts = [[false, false, true], [false, true, false]];
    /// assert_eq!(f.call(&[[1, 2, 3], [4, 5, 6]], &starts)?.to_vec()?, [1, 3, 3, 4, 5, 11]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn segmented_scan(self, m: impl Monoid<T>, starts: Arr<bool, S>) -> Arr<T, S> {
        on_behalf(Location::caller(), || {
            starts.zip(self.array()).along::<P>().scan(Restarting(m)).map(|(_, combined)| combined)
        })
    }
}
