//! Sorts: elements in the order of their keys, along an axis.
//!
//! What is recorded is a `sort` of SIR, by the words of a [`Key`]. Parts of elements that are part of the key are made of its words again behind
//! that; others are moved with it where they are small, and where they are not, positions are.

use crate::along::Along;
use crate::arr::{Arr, Zip, zip};
use crate::elem::{Elem, handles, parts_of, value_of};
use crate::extent::{Axis, Extent};
use crate::key::{Key, Told, Word};
use crate::position::{At, Idx};
use crate::shape::{HasAxis, Innermost, Insert};
use crate::trace::{Handle, Leaf, Loc, on_behalf};
use std::panic::Location;

/// The most bytes of an element that is moved with its key.
const MOST_MOVED: usize = 8;

impl<T: Elem, A: Axis> Arr<T, A> {
    /// The elements in order: integers and `bool` in theirs, floats in that of `f32::total_cmp` (-NaN first, NaN last, -0 before 0), tuples and
    /// structs by their first part, then by the next.
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
        self.along::<Innermost>().sort()
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
        self.along::<Innermost>().sort_by_key(key)
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
        self.along::<Innermost>().argsort()
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
        self.along::<Innermost>().argsort_by_key(key)
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
        self.along::<Innermost>().top_k::<K>()
    }
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// The elements along the axis in order; see [`Arr::sort`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| (x.over(M).sort(), x.over(N).sort()))?;
    /// let (rows, columns) = f.call(&[[2.0f32, 1.0], [0.0, 3.0]])?;
    /// assert_eq!((rows.to_vec()?, columns.to_vec()?), (vec![1.0, 2.0, 0.0, 3.0], vec![0.0, 1.0, 2.0, 3.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(self) -> Arr<T, S> {
        self.sort_by_key(|element| element)
    }

    /// The elements along the axis in the order of a [`Key`] of each; those whose keys are equal stay in their order.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, (N, M)>| x.over(M).sort_by_key(|v| v.abs().descending()))?;
    /// assert_eq!(f.call(&[[1, -3, 2], [0, 5, -6]])?.to_vec()?, [-3, 2, 1, -6, 5, 0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Key>(self, key: impl Fn(T::Exp) -> K) -> Arr<T, S> {
        let at: Loc = Location::caller();
        let lines = self.lines();
        let mut moved = Moved::default();
        let sorted = lines.sorted(at, &mut |place, element| {
            let words = words_of(at, &key, &element);
            moved = Moved::of(at, parts_of::<T>(), &element, &words);
            let values = moved.values(place, &element, &words);
            (words, values)
        });
        if moved.are_elements() && lines.are_last() {
            return Arr::new(sorted);
        }
        Arr::new(lines.unsorted(at, sorted, moved.count, &|values, read| moved.element(at, &values, read)))
    }

    /// The positions along the axis in the order of their elements; see [`Arr::argsort`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).argsort())?;
    /// assert_eq!(f.call(&[[0.3f32, 0.1], [1.0, 2.0]])?.to_vec()?, [1, 0, 0, 1].map(At::new));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(self) -> Arr<At<S::Axis>, S> {
        self.argsort_by_key(|element| element)
    }

    /// The positions along the axis in the order of a [`Key`] of each element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(N).argsort_by_key(|v| v.descending()))?;
    /// assert_eq!(f.call(&[[0.3f32, 0.1], [1.0, 0.0]])?.to_vec()?, [1, 0, 0, 1].map(At::new));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort_by_key<K: Key>(self, key: impl Fn(T::Exp) -> K) -> Arr<At<S::Axis>, S> {
        let at: Loc = Location::caller();
        let by = &mut |place: Handle, element: Vec<Handle>| {
            let place: Idx<S::Axis> = value_of(&[place]);
            (words_of(at, &key, &element), handles(place))
        };
        let lines = self.lines();
        let sorted = lines.sorted(at, by);
        Arr::new(if lines.are_last() { sorted } else { lines.unsorted(at, sorted, 1, &|places, _| places) })
    }

    /// The largest elements along the axis, as many as `K` has positions, and where they are; see [`Arr::top_k`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).top_k::<Fix<1>>())?;
    /// let (best, places) = f.call(&[[1.0f32, 9.0], [5.0, 2.0]])?;
    /// assert_eq!((best.to_vec()?, places.to_vec()?), (vec![9.0, 5.0], vec![At::new(1), At::new(0)]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::type_complexity)] // two arrays of one shape, which has no shorter name
    pub fn top_k<K: Axis>(self) -> (Best<T, S, P, K>, Best<At<S::Axis>, S, P, K>)
    where
        S::Rest: Insert<K, P>,
    {
        let at: Loc = Location::caller();
        let order = self.argsort_by_key(|element| element.descending());
        let lines = self.lines();
        on_behalf(at, || {
            let places = order.along::<P>().slice::<K>(0);
            let best = lines.gather(at, &Extent::of::<K>(), places.handle());
            (Arr::new(best), places)
        })
    }
}

/// An array with `K` instead of the axis at `P`.
type Best<T, S, P, K> = Arr<T, <<S as HasAxis<P>>::Rest as Insert<K, P>>::Out>;

/// How an element comes out of what was moved with its key.
#[derive(Default)]
struct Moved {
    /// Of each part whether the key tells it; moved are its words then.
    parts: Vec<Option<Told>>,
    /// Is the position moved instead?
    by_place: bool,
    /// Values that are moved.
    count: usize,
}

impl Moved {
    fn of(at: Loc, leaves: &[Leaf], element: &[Handle], words: &[(Handle, u32)]) -> Moved {
        // A position stays one.
        let is_plain = |leaf: &Leaf| *leaf == Leaf::of(leaf.ty);
        let told = |(leaf, &number): (&Leaf, &Handle)| {
            is_plain(leaf).then(|| Word::told_by(at, leaf.ty, number, words)).flatten()
        };
        let parts: Vec<Option<Told>> = on_behalf(at, || leaves.iter().zip(element).map(told).collect());
        let untold = leaves.iter().zip(&parts).filter(|(_, told)| told.is_none());
        let by_place = untold.map(|(leaf, _)| leaf.ty.bytes()).sum::<usize>() > MOST_MOVED;
        let count = if by_place { 1 } else { parts.iter().map(|told| told.map_or(1, |told| told.words().len())).sum() };
        Moved { parts, by_place, count }
    }

    fn values(&self, place: Handle, element: &[Handle], words: &[(Handle, u32)]) -> Vec<Handle> {
        if self.by_place {
            return vec![place];
        }
        let values = |(told, &number): (&Option<Told>, &Handle)| match told {
            Some(told) => words[told.words()].iter().map(|(word, _)| *word).collect(),
            None => vec![number],
        };
        self.parts.iter().zip(element).flat_map(values).collect()
    }

    /// Is nothing to be done to what was moved?
    fn are_elements(&self) -> bool {
        !self.by_place && self.parts.iter().all(|told| told.is_none_or(Told::is_word))
    }

    fn element(&self, at: Loc, values: &[Handle], read: &dyn Fn(Handle) -> Vec<Handle>) -> Vec<Handle> {
        if let (true, &[place]) = (self.by_place, values) {
            return read(place);
        }
        let mut values = values.iter().copied();
        let part = |told: &Option<Told>| match told {
            Some(told) => told.number(at, &values.by_ref().take(told.words().len()).collect::<Vec<_>>()),
            None => values.next().unwrap_or(Handle::POISON),
        };
        self.parts.iter().map(part).collect()
    }
}

fn widths(words: Vec<Word>) -> Vec<(Handle, u32)> {
    words.into_iter().map(|word| (word.bits().handle(), word.width())).collect()
}

/// The words of the key of an element.
fn words_of<V: crate::elem::Value, K: Key>(at: Loc, key: impl Fn(V) -> K, element: &[Handle]) -> Vec<(Handle, u32)> {
    on_behalf(at, || widths(key(value_of(element)).words()))
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
