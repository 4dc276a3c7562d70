//! Sorted arrays: where a value belongs in one, and two of them as one.

use crate::arr::Arr;
use crate::axis::Either;
use crate::elem::{Elem, Exp, Lift};
use crate::extent::Axis;
use crate::key::is_before;
use crate::layout::concat;
use crate::loops::iterate;
use crate::position::{Idx, Near};
use crate::scatter::sent_from;
use crate::trace::on_behalf;
use std::panic::Location;

/// On which side of equal elements a value belongs.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // How many elements of a sorted array are equal to a value?
/// fn occurrences(sorted: Arr<u32, N>, v: Exp<u32>) -> Exp<i64> {
///     sorted.search_sorted(v, Side::Right).number() - sorted.search_sorted(v, Side::Left).number()
/// }
/// assert_eq!(compile(occurrences)?.call(&[1, 2, 2, 4], 2)?.value()?, 2);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before them: the place of the first element that is not less, the lower bound.
    Left,
    /// Behind them: the place of the first element that is greater, the upper bound.
    Right,
}

impl<T: Elem, A: Axis> Arr<T, A> {
    /// The place in a sorted array where `value` belongs, by binary search; the one behind the end, where all elements come before it. The
    /// order is that of [`sort`](Arr::sort). Of an array that is not sorted it is some place from the start to there.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|sorted: Arr<f32, N>, v: Arr<f32, M>| v.map(|v| sorted.search_sorted(v, Side::Left).number()))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 2.0], &[2.0f32, 0.0, 9.0])?.to_vec()?, [1, 0, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "lower_bound")]
    #[doc(alias = "upper_bound")]
    #[track_caller]
    pub fn search_sorted(self, value: impl Lift<T>, side: Side) -> Near<A> {
        let value = value.lift();
        on_behalf(Location::caller(), || {
            let count = Idx::<A>::extent();
            let bits = 64 - count.cast::<u64>().leading_zeros().cast::<u32>(); // each turn halves what is left
            let (place, _) = iterate(bits, (0i64, count), |_, (low, high): (Exp<i64>, Exp<i64>)| {
                let middle = (low + high) >> 1;
                let there = self.get(middle).or(value);
                let comes_before = match side {
                    Side::Left => is_before(there, value),
                    Side::Right => !is_before(value, there),
                };
                let on = low.lt(high) & comes_before;
                (on.select(middle + 1, low), on.select(high, middle))
            });
            Near::new(place)
        })
    }
}

/// The elements of two sorted arrays as one sorted array; of equal ones those of the first come first. Each element is sent to its rank: its
/// own position, and how many elements of the other array come before it.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| merge(x, y))?;
/// assert_eq!(f.call(&[1.0f32, 3.0], &[2.0f32, 3.0, 4.0])?.to_vec()?, [1.0, 2.0, 3.0, 3.0, 4.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn merge<T: Elem, A: Axis, B: Axis>(a: Arr<T, A>, b: Arr<T, B>) -> Arr<T, Either<A, B>> {
    on_behalf(Location::caller(), || {
        let both = concat(a, b);
        let order = sent_from(|p: Idx<Either<A, B>>| {
            Near::new(p.either::<i64, _, _>(
                |i| i.i64() + b.search_sorted(a.at(i), Side::Left).number(),
                |j| j.i64() + a.search_sorted(b.at(j), Side::Right).number(),
            ))
        });
        order.map(|p| both.at(p))
    })
}
