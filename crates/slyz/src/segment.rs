//! Arrays in segments: scans that start again, and folds of each segment.
//!
//! A scan of a segmented array is a scan of pairs, of which the first says whether a segment starts within: so it is as parallel as any
//! scan, however long the segments are. A fold is the last element of such a scan where flags tell the segments.
//!
//! Where offsets tell them, a fold is a loop over each segment, which fuses with what made the elements. A segment may be nearly all of the
//! array; so pieces of the array that lie within one segment are combined before, beside each other, and its loop takes them whole.

use crate::__private::cond;
use crate::along::Along;
use crate::arr::{Arr, tabulate};
use crate::axis::{Either, Fix, Stride};
use crate::elem::{Elem, Exp, Int, lit};
use crate::extent::{Axis, Extent};
use crate::loops::repeat_while;
use crate::monoid::{MaxOf, Monoid, Sum};
use crate::position::{Idx, Near};
use crate::record;
use crate::scatter::scatter;
use crate::search::Side;
use crate::shape::HasAxis;
use crate::trace::{Loc, here, on_behalf};
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
    /// The elements of each segment combined.
    fn folds<T: Elem>(self, x: Arr<T, A>, m: impl Monoid<T>) -> Arr<T, S>;
}

impl<A: Axis, S: Axis> Segmented<A, S> for Arr<bool, A> {
    fn folds<T: Elem>(self, x: Arr<T, A>, m: impl Monoid<T>) -> Arr<T, S> {
        x.segmented_scan(m, self).filter_at::<S>(|i, _| self.at_or(i + 1, true))
    }
}

/// The elements of a piece: two of them, and all pieces of an array of 10 million elements, are few enough turns for one thread.
const PIECE: usize = 1 << PIECE_BITS;
const PIECE_BITS: i64 = 12;

impl<A: Axis, S: Axis> Segmented<A, S> for Segments<S> {
    fn folds<T: Elem>(self, x: Arr<T, A>, m: impl Monoid<T>) -> Arr<T, S> {
        let at: Loc = here(Location::caller());
        let piece = PIECE as i64;
        // What is before, with the elements from one place to another, which are inside.
        let with = |before: T::Exp, from: Exp<i64>, to: Exp<i64>| -> T::Exp {
            let step = |(k, before): (Exp<i64>, T::Exp)| {
                let place = Idx::new(record::clamp(at, &Extent::of::<A>(), k.handle()));
                (k + 1, m.op(before, x.at(place)))
            };
            repeat_while((from, before), |(k, _)| k.lt(to), step).1
        };
        let extent = Idx::<A>::extent();
        let all = self.ends.get(Idx::<S>::extent() - 1).or(0).min(extent);
        let pieces: Arr<T, Stride<A, PIECE>> = tabulate(|p: Idx<Stride<A, PIECE>>| {
            let from = p.i64() * piece;
            let to = from + piece;
            let started = self.starts.search_sorted(from, Side::Right).number();
            let next = self.starts.get(started).or(all);
            let is_within = started.gt(0) & to.le(next.min(all));
            with(m.unit(), from, is_within.select(to, from))
        });
        tabulate(|s: Idx<S>| {
            let from = self.starts.at(s).clamp(0, extent);
            let to = self.ends.at(s).clamp(0, extent);
            let is_long = (to - from).ge(2 * piece);
            let first = (from + (piece - 1)) >> PIECE_BITS;
            let head = with(m.unit(), from, is_long.select(first << PIECE_BITS, to));
            let long = |()| {
                let last = to >> PIECE_BITS;
                let step = |(p, before): (Exp<i64>, T::Exp)| (p + 1, m.op(before, pieces.get(p).or(m.unit())));
                let (_, body) = repeat_while((first, head), |(p, _)| p.lt(last), step);
                ((), with(body, from.max(last << PIECE_BITS), to))
            };
            cond(is_long).branch((), long, |()| ((), head)).1
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
        on_behalf(Location::caller(), || segments.folds(self, m))
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
