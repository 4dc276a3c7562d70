//! Scatters and filters: arrays whose elements choose their places.

use crate::arr::{Arr, tabulate};
use crate::elem::{Elem, Exp, Lift, handles, lit, value_of};
use crate::extent::{Axis, Extent};
use crate::monoid::{MaxOf, Monoid, Sum, with_parts};
use crate::position::{At, Idx, Near};
use crate::record;
use crate::shape::{OneAxis, Position, Shape};
use crate::trace::{Handle, Loc};
use std::panic::Location;

/// A place to write to: `Near` or `Idx`, or a tuple of them for several axes.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// // Transposition by writing: each element chooses its place.
/// fn turned(x: Arr<f32, (N, M)>) -> Arr<f32, (M, N)> {
///     scatter(Sum, |(i, j): Pos<(N, M)>| ((j, i), x.at((i, j))))
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a place to write to",
    label = "expected `Idx<A>`, `Near<A>`, or a tuple of them"
)]
pub trait ScatterTo {
    /// The shape it is a place of.
    type Shape: Shape;

    #[doc(hidden)]
    fn numbers(&self, out: &mut Vec<Handle>);

    /// Is there such a place?
    #[doc(hidden)]
    fn is_there(&self) -> Exp<bool>;
}

impl<A: Axis> ScatterTo for Idx<A> {
    type Shape = A;
    fn numbers(&self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn is_there(&self) -> Exp<bool> {
        lit(true)
    }
}

impl<A: Axis> ScatterTo for Near<A> {
    type Shape = A;
    fn numbers(&self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
    fn is_there(&self) -> Exp<bool> {
        self.inside()
    }
}

macro_rules! places {
    ($($P:ident $A:ident $i:tt),*) => {
        impl<$($A: Axis, $P: ScatterTo<Shape = $A>),*> ScatterTo for ($($P,)*) {
            type Shape = ($($A,)*);
            fn numbers(&self, out: &mut Vec<Handle>) { $(self.$i.numbers(out);)* }
            fn is_there(&self) -> Exp<bool> { lit(true) $(& self.$i.is_there())* }
        }
    };
}
places!(P A 0, Q B 1);
places!(P A 0, Q B 1, R C 2);
places!(P A 0, Q B 1, R C 2, S D 3);

/// For each position, combines a value into a computed place, in order; what falls outside is dropped. [`scatter_checked`] tells how much that is.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // A histogram of three bins.
/// let f = compile(|x: Arr<i32, N>| scatter(Sum, |i: Idx<N>| (Near::<Fix<3>>::new(x.at(i)), 1u32)))?;
/// assert_eq!(f.call(&[0, 2, 2, 7])?.to_vec()?, [1, 0, 2]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn scatter<S, P, W, T, V>(m: impl Monoid<T>, f: impl Fn(P) -> (W, V)) -> Arr<T, W::Shape>
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    W: ScatterTo,
    T: Elem,
    V: Lift<T>,
{
    let at: Loc = Location::caller();
    let body = &mut |position: &[Handle]| {
        let (place, value) = f(value_of(position));
        let mut out = vec![];
        place.numbers(&mut out);
        out.extend(handles(value.lift()));
        out
    };
    let target = <W::Shape as Shape>::axes();
    Arr::new(with_parts(at, &m, |parts| record::scatter(at, &S::axes(), &target, body, parts)))
}

/// The same as [`scatter`], and how many values fell outside.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<i32, N>| scatter_checked(Sum, |i: Idx<N>| (Near::<Fix<3>>::new(x.at(i)), 1u32)))?;
/// let (bins, outside) = f.call(&[0, 2, 2, 7])?;
/// assert_eq!((bins.to_vec()?, outside.value()?), (vec![1, 0, 2], 1));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn scatter_checked<S, P, W, T, V>(m: impl Monoid<T>, f: impl Fn(P) -> (W, V)) -> (Arr<T, W::Shape>, Exp<u64>)
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    W: ScatterTo,
    T: Elem,
    V: Lift<T>,
{
    let outside: Arr<bool, S> = tabulate(|position: P| !f(position).0.is_there());
    (scatter(m, f), outside.count())
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// How many elements go to each place that `bin` chooses; what falls outside is not counted. For anything else than
    /// their number there is [`scatter`](crate::scatter()).
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.histogram(|v| Near::<Fix<4>>::new((v * 4.0).floor().cast::<i32>())))?;
    /// assert_eq!(f.call(&[0.1f32, 0.2, 0.9, 7.0])?.to_vec()?, [2, 0, 0, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn histogram<W: ScatterTo>(self, bin: impl Fn(T::Exp) -> W) -> Arr<u32, W::Shape> {
        let at: Loc = Location::caller();
        scatter(Sum, |position: S::Pos| (bin(self.element(at, position)), 1u32))
    }

    /// The elements for which `keep` holds, in order, on the axis `K`, whose extent is counted while the function runs.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, Kept);
    /// let f = compile(|x: Arr<f32, N>| x.filter::<Kept>(|v| v.gt(0.0)))?;
    /// assert_eq!(f.call(&[1.0f32, -1.0, 3.0])?.to_vec()?, [1.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn filter<K: Axis>(self, keep: impl Fn(T::Exp) -> Exp<bool>) -> Arr<T, K>
    where
        S: OneAxis,
    {
        self.filter_at::<K>(|_, element| keep(element))
    }

    /// The elements for whose position and value `keep` holds, in order, on the axis `K`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, Kept);
    /// let peaks = compile(|x: Arr<f32, N>| x.filter_at::<Kept>(|i, v| v.gt(x.at_or(i - 1, 0.0)) & v.gt(x.at_or(i + 1, 0.0))))?;
    /// assert_eq!(peaks.call(&[1.0f32, 3.0, 2.0, 4.0])?.to_vec()?, [3.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn filter_at<K: Axis>(self, keep: impl Fn(Idx<S>, T::Exp) -> Exp<bool>) -> Arr<T, K>
    where
        S: OneAxis,
    {
        let at: Loc = Location::caller();
        let body = &mut |position: &[Handle]| {
            let element = self.element(at, value_of(position));
            let mut out = vec![keep(value_of(position), element).handle()];
            out.extend(handles(element));
            out
        };
        Arr::new(record::filter(at, &Extent::of::<S>(), &Extent::of::<K>(), body))
    }
}

/// The position that is sent to each place, where each is sent to a place of its own. Of several the last one comes, and the first
/// position where none comes, so that whatever the places are there is an element to read.
///
/// Positions are sent rather than elements: they are integers, of which machines have atomics, whatever an element is.
pub(crate) fn sent_from<A: Axis>(place: impl Fn(Idx<A>) -> Near<A>) -> Arr<At<A>, A> {
    let from: Arr<u32, A> = scatter(MaxOf, |i: Idx<A>| (place(i), i.u32()));
    tabulate(|to: Idx<A>| Near::beside(to, from.at(to)).clamp())
}
