//! Sorts: the order of an array by its keys, and what follows from that.
//!
//! All of them ask one function for positions in order, [`sorted_positions`]: a stable sort by digits, the least significant first. It is written in
//! the words of this crate, and sees of keys nothing but their words.

use crate::arr::{Arr, Zip, stack, tabulate, zip};
use crate::axis::{Fix, Stride};
use crate::elem::{Elem, Exp, value_of};
use crate::extent::{Axis, Extent};
use crate::key::Key;
use crate::loops::{iterate, scan_over};
use crate::monoid::Sum;
use crate::position::{At, Idx, Near};
use crate::record;
use crate::scatter::{scatter, sent_from};
use crate::trace::{Handle, Loc, here, on_behalf};
use std::panic::Location;

/// Values of a digit, which has 8 bits.
const VALUES: usize = 256;
const DIGIT_BITS: u32 = VALUES.trailing_zeros();

/// Elements that are counted together, and dealt out one after another: more make the table of counts smaller, fewer can be dealt out
/// by more threads.
const CHUNK: usize = 1024;

impl<T: Elem, A: Axis> Arr<T, A> {
    /// The elements in order: integers and `bool` in theirs, floats in that of `f32::total_cmp` (-NaN first, NaN last, -0 before 0), tuples and
    /// structs by their first part, then by the next. There may be up to 2³² of them.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.sort())?;
    /// assert_eq!(f.call(&[3.0f32, -1.0, 2.0])?.to_vec()?, [-1.0, 2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(self) -> Arr<T, A> {
        self.sort_by_key(|element| element)
    }

    /// The elements in the order of a [`Key`] of each; those whose keys are equal stay in their order.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<(u32, f32), N>| x.sort_by_key(|(name, _)| name.descending()))?;
    /// assert_eq!(f.call(&[(1u32, 0.5f32), (2, 0.1), (1, 0.2)])?.to_vec()?, [(2, 0.1), (1, 0.5), (1, 0.2)]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Key>(self, key: impl Fn(T::Exp) -> K) -> Arr<T, A> {
        let order = self.argsort_by_key(key);
        on_behalf(Location::caller(), || order.map(|i| self.at(i)))
    }

    /// The positions of the elements in order: the first is that of the smallest. Of equal elements the first comes first.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<u32, N>| x.argsort().map(|i| y.at(i)))?;
    /// assert_eq!(f.call(&[0.3f32, 0.1, 0.2], &[3, 1, 2])?.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(self) -> Arr<At<A>, A> {
        self.argsort_by_key(|element| element)
    }

    /// The positions of the elements in the order of a [`Key`] of each.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.argsort_by_key(|v| v.abs().descending()))?;
    /// assert_eq!(f.call(&[1, -3, 2])?.to_vec()?, [1, 2, 0].map(At::new));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort_by_key<K: Key>(self, key: impl Fn(T::Exp) -> K) -> Arr<At<A>, A> {
        let at: Loc = Location::caller();
        sorted_positions(at, |i| key(self.element(at, i)))
    }

    /// The largest elements, as many as `K` has positions, and where they are: the largest first, of equal ones the first. That there are so
    /// many is checked at the call. The order is that of [`sort`](Arr::sort), so a NaN is larger than all numbers.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.top_k::<Fix<2>>())?;
    /// let (best, places) = f.call(&[1.0f32, 9.0, 5.0])?;
    /// assert_eq!((best.to_vec()?, places.to_vec()?), (vec![9.0, 5.0], vec![At::new(1), At::new(2)]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn top_k<K: Axis>(self) -> (Arr<T, K>, Arr<At<A>, K>) {
        let best = self.argsort_by_key(|element| element.descending()).slice::<K>(0);
        on_behalf(Location::caller(), || (best.map(|i| self.at(i)), best))
    }
}

/// The positions in the order of several arrays: by the first, where that is equal by the second, and so on.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|last: Arr<u32, N>, first: Arr<u32, N>| lexsort((last, first)))?;
/// assert_eq!(f.call(&[2, 1, 2], &[9, 5, 3])?.to_vec()?, [1, 2, 0].map(At::new));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn lexsort<T: Elem, A: Axis>(arrays: impl Zip<Out = Arr<T, A>>) -> Arr<At<A>, A> {
    zip(arrays).argsort()
}

/// The positions of an axis in the order of their keys; where keys are equal, in their own.
fn sorted_positions<A: Axis, K: Key>(at: Loc, key: impl Fn(Idx<A>) -> K) -> Arr<At<A>, A> {
    let at = here(at);
    let mut widths = vec![];
    let words = record::tabulate(at, &[Extent::of::<A>()], &mut |position| {
        let words = key(value_of(position)).words();
        widths = words.iter().map(|word| word.width()).collect();
        words.iter().map(|word| word.bits().handle()).collect()
    });
    on_behalf(at, || {
        let unsorted = tabulate(|i: Idx<A>| i);
        widths.iter().enumerate().rev().fold(unsorted, |order, (number, &width)| {
            let word = |i: Idx<A>| Exp::new(leaf(at, words, widths.len(), number, i));
            by_word(order, word, width)
        })
    })
}

/// One part of an element.
fn leaf<A: Axis>(at: Loc, array: Handle, count: usize, number: usize, i: Idx<A>) -> Handle {
    record::read(at, array, count, &[i.handle()]).get(number).copied().unwrap_or(Handle::POISON)
}

/// An order, sorted by words of so many bits, a digit each turn.
fn by_word<A: Axis>(order: Arr<At<A>, A>, word: impl Fn(Idx<A>) -> Exp<u32>, width: u32) -> Arr<At<A>, A> {
    type State<A> = (Arr<u32, A>, Arr<At<A>, A>);
    let words: Arr<u32, A> = order.map(word);
    let sorted = iterate(width.div_ceil(DIGIT_BITS), (words, order), |turn, (words, order): State<A>| {
        let digits = words.map(|word| word >> (turn * DIGIT_BITS) & (VALUES as u32 - 1));
        let from = by_digit(digits);
        (from.map(|i| words.at(i)), from.map(|i| order.at(i)))
    });
    sorted.1
}

/// The positions in the order of digits. In a table of how many elements of each chunk have each digit, a sum over all entries before
/// one is where the chunk's elements of that digit go, one behind the other.
fn by_digit<A: Axis>(digits: Arr<u32, A>) -> Arr<At<A>, A> {
    type Digits = Fix<VALUES>;
    type Chunks<A> = Stride<A, CHUNK>;
    let counts: Arr<u32, (Digits, Chunks<A>)> =
        scatter(Sum, |i: Idx<A>| ((Near::new(digits.at(i)), i.part::<CHUNK>()), 1u32));
    let starts = counts.flatten().scan_exclusive(Sum);
    let places: Arr<u32, (Chunks<A>, Fix<CHUNK>)> = stack(|chunk: Idx<Chunks<A>>| {
        let next: Arr<u32, Digits> = tabulate(|digit| starts.at(Idx::flat(digit, chunk)));
        let deal = |next: Arr<u32, Digits>, k: Idx<Fix<CHUNK>>| {
            let digit = Near::<Digits>::new(digits.get(chunk.i64() * CHUNK as i64 + k.i64()).or(VALUES as u32));
            let place = next.at(digit.clamp());
            (next.with(digit, place + 1), place)
        };
        scan_over(next, deal).1
    });
    sent_from(|i: Idx<A>| Near::new(places.at((i.part(), i.within_part()))))
}
