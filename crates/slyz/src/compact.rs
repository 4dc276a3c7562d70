//! Elements that are kept: those of a mask, those that differ from their neighbour, and those first that a condition chooses.
//!
//! All of it is a filter, a rank by a scan and a scatter, or along an axis a sort by one bit.

use crate::along::Along;
use crate::arr::Arr;
use crate::elem::{Elem, Exp, Value, handles, lit};
use crate::extent::Axis;
use crate::monoid::Sum;
use crate::position::{Idx, Near};
use crate::record;
use crate::scatter::sent_from;
use crate::shape::HasAxis;
use crate::trace::on_behalf;
use slyz_sir::ops::Operator;
use std::panic::Location;

impl<T: Elem, A: Axis> Arr<T, A> {
    /// The elements where `mask` holds, in order, on the axis `K`, whose extent is counted while the function runs.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, Kept);
    /// let f = compile(|x: Arr<f32, N>, mask: Arr<bool, N>| x.compact::<Kept>(mask))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0], &[true, false, true])?.to_vec()?, [1.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn compact<K: Axis>(self, mask: Arr<bool, A>) -> Arr<T, K> {
        on_behalf(Location::caller(), || self.filter_at::<K>(|i, _| mask.at(i)))
    }

    /// The elements for which `first` holds, then the others, both in their order; and how many the former are.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.partition(|v| (v % 2).eq(0)))?;
    /// let (parted, even) = f.call(&[1, 2, 3, 4, 5])?;
    /// assert_eq!((parted.to_vec()?, even.value()?), (vec![2, 4, 1, 3, 5], 2));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn partition(self, first: impl Fn(T::Exp) -> Exp<bool>) -> (Arr<T, A>, Exp<u32>) {
        let chosen: Arr<bool, A> = self.map(first);
        on_behalf(Location::caller(), || {
            let before = chosen.cast::<u32>().scan_exclusive(Sum);
            let count = chosen.cast::<u32>().sum();
            let order = sent_from(|i: Idx<A>| {
                let behind = count + i.u32() - before.at(i);
                Near::new(chosen.at(i).select(before.at(i), behind))
            });
            (order.map(|i| self.at(i)), count)
        })
    }

    /// The elements that differ from the one before, on the axis `K`: each once, where equal ones are neighbours, as they are in a
    /// sorted array. As for `Vec::dedup`, 0 and -0 are equal, and a NaN equals nothing.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, K);
    /// let f = compile(|x: Arr<u32, N>| x.unique::<K>())?;
    /// assert_eq!(f.call(&[1, 1, 2, 2, 2, 1])?.to_vec()?, [1, 2, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[doc(alias = "dedup")]
    #[track_caller]
    pub fn unique<K: Axis>(self) -> Arr<T, K> {
        on_behalf(Location::caller(), || self.filter_at::<K>(|i, _| self.is_new(i)))
    }

    /// The runs of equal neighbours: their elements, and how long they are.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, Runs);
    /// let f = compile(|x: Arr<u32, N>| x.run_length::<Runs>())?;
    /// let (values, lengths) = f.call(&[7, 7, 5, 7])?;
    /// assert_eq!((values.to_vec()?, lengths.to_vec()?), (vec![7, 5, 7], vec![2, 1, 1]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn run_length<K: Axis>(self) -> (Arr<T, K>, Arr<u32, K>) {
        on_behalf(Location::caller(), || {
            let runs = self.map_at(|i, element| (element, i.u32())).filter_at::<K>(|i, _| self.is_new(i));
            let starts: Arr<u32, K> = runs.map(|(_, start)| start);
            let lengths = starts.map_at(|k, start| starts.at_or(k + 1, self.len().cast::<u32>()) - start);
            (runs.map(|(element, _)| element), lengths)
        })
    }

    /// Is the element the first, or another than the one before?
    fn is_new(self, i: Idx<A>) -> Exp<bool> {
        i.i64().eq(0) | differ(self.at((i - 1).clamp()), self.at(i))
    }
}

/// Does some part of two values differ?
fn differ<V: Value>(a: V, b: V) -> Exp<bool> {
    let parts = handles(a).into_iter().zip(handles(b));
    let tests = parts.map(|(a, b)| Exp::new(record::apply(Location::caller(), Operator::Ne, &[a, b])));
    tests.reduce(|some, other: Exp<bool>| some | other).unwrap_or_else(|| lit(false))
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// Along the axis the elements for which `first` holds, then the others, both in their order; and how many the former are.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, (N, M)>| x.over(M).partition(|v| (v % 2).eq(0)))?;
    /// let (parted, even) = f.call(&[[1, 2, 3], [4, 5, 6]])?;
    /// assert_eq!((parted.to_vec()?, even.to_vec()?), (vec![2, 1, 3, 4, 6, 5], vec![1, 2]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn partition(self, first: impl Fn(T::Exp) -> Exp<bool>) -> (Arr<T, S>, Arr<u32, S::Rest>) {
        let chosen: Arr<bool, S> = self.array().map(&first);
        on_behalf(Location::caller(), || {
            // A stable sort by one bit.
            let parted = self.sort_by_key(|element| !first(element));
            (parted, chosen.cast::<u32>().along::<P>().sum())
        })
    }
}
