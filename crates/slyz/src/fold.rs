//! Folds, scans, scatters and filters, and the monoids they work with. What goes along one axis is recorded by `along.rs`.

use crate::along::{self, Along};
use crate::arr::Arr;
use crate::axis::Axis;
use crate::elem::{Additive, Elem, Float, Lift, Num, Value, handles, holds_positions, lit, tys_of, value_of};
use crate::exp::Exp;
use crate::extent::Extent;
use crate::position::{At, Idx, Near};
use crate::record::{self, MonoidParts};
use crate::shape::{AxisNamed, AxisNo, Inner, OneAxis, Position, Shape};
use crate::trace::{Handle, Loc, Ty, on_behalf};
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar as Constant;
use std::panic::Location;

/// An associative operation with a neutral element.
///
/// ```
/// use slyz::prelude::*;
/// fn total<A: Axis>(x: Arr<f32, A>, m: impl Monoid<f32>) -> Exp<f32> { x.fold(m) }
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| total(x, Sum) + total(x, MaxOf))?;
/// assert_eq!(f.call(&[1.0f32, 2.0])?.value()?, 5.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a monoid on `{T}`",
    note = "make one with `monoid(neutral, |a, b| ..)`, or use `Sum`, `Product`, `MinOf`, `MaxOf` on numbers and `Any`, `All` on `bool`"
)]
pub trait Monoid<T: Elem> {
    /// The neutral element: the answer for no elements.
    fn unit(&self) -> T::Exp;

    /// Combines two; the left one comes first.
    fn op(&self, a: T::Exp, b: T::Exp) -> T::Exp;

    /// May operands change places? Without it only the grouping is free.
    fn is_commutative(&self) -> bool {
        false
    }
}

macro_rules! monoids {
    ($($(#[$doc:meta])* $Name:ident [$($bound:tt)*] $T:ty, |$a:ident, $b:ident| $op:expr, $unit:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Name;
        impl $($bound)* Monoid<$T> for $Name {
            #[track_caller]
            fn unit(&self) -> Exp<$T> { lit($unit) }
            #[track_caller]
            fn op(&self, $a: Exp<$T>, $b: Exp<$T>) -> Exp<$T> { $op }
            fn is_commutative(&self) -> bool { true }
        }
    )*};
}
monoids! {
    /// The product; 1 of nothing.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn prefixes(x: Arr<f32, N>) -> Arr<f32, N> { x.scan(Product) }
    /// ```
    Product [<T: Num>] T, |a, b| a * b, T::ONE;
    /// The smallest; the highest value of nothing. A NaN loses.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn prefixes(x: Arr<f32, N>) -> Arr<f32, N> { x.scan(MinOf) }
    /// ```
    MinOf [<T: Num>] T, |a, b| a.min(b), T::HIGHEST;
    /// The largest; the lowest value of nothing. A NaN loses.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn prefixes(x: Arr<f32, N>) -> Arr<f32, N> { x.scan(MaxOf) }
    /// ```
    MaxOf [<T: Num>] T, |a, b| a.max(b), T::LOWEST;
    /// Does it hold somewhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn prefixes(x: Arr<bool, N>) -> Arr<bool, N> { x.scan(Any) }
    /// ```
    Any [] bool, |a, b| a | b, false;
    /// Does it hold everywhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn prefixes(x: Arr<bool, N>) -> Arr<bool, N> { x.scan(All) }
    /// ```
    All [] bool, |a, b| a & b, true;
}

/// The sum; 0 of nothing. Tuples, `[_; N]` and derived structs of numbers are added part by part.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// fn prefixes(x: Arr<f32, N>) -> Arr<f32, N> { x.scan(Sum) }
/// let f = compile(|x: Arr<(f32, u32), N>| x.fold(Sum))?;
/// let (floats, whole) = f.call(&[(0.5f32, 1u32), (1.5, 2)])?;
/// assert_eq!((floats.value()?, whole.value()?), (2.0, 3));
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl<T: Additive> Monoid<T> for Sum {
    #[track_caller]
    fn unit(&self) -> T::Exp {
        added::<T>(Location::caller(), zeros(Location::caller(), &tys_of::<T>()))
    }
    #[track_caller]
    fn op(&self, a: T::Exp, b: T::Exp) -> T::Exp {
        added::<T>(Location::caller(), add(Location::caller(), &handles(a), &handles(b)))
    }
    fn is_commutative(&self) -> bool {
        true
    }
}

/// What was added up, which is no position, whatever the element says.
fn added<T: Elem>(at: Loc, sums: Vec<Handle>) -> T::Exp {
    if !holds_positions::<T>() {
        return value_of(&sums);
    }
    let help = "make a monoid of your own with `monoid(neutral, |a, b| ..)`";
    crate::trace::error(at, "positions cannot be added up: their sum may be outside their axis", help);
    value_of(&vec![Handle::POISON; sums.len()])
}

fn zeros(at: Loc, tys: &[Ty]) -> Vec<Handle> {
    tys.iter().map(|&ty| record::constant(at, Constant::from_int(ty, 0))).collect()
}

fn add(at: Loc, a: &[Handle], b: &[Handle]) -> Vec<Handle> {
    a.iter().zip(b).map(|(&a, &b)| record::apply(at, Operator::Add, &[a, b])).collect()
}

/// A monoid made with [`monoid`].
///
/// ```
/// use slyz::prelude::*;
/// fn longest() -> impl Monoid<u32> { monoid(0u32, |a, b| a.max(b)).commutative() }
/// ```
pub struct UserMonoid<T: Elem, F> {
    unit: T::Exp,
    op: F,
    commutative: bool,
}

impl<T: Elem, F: Fn(T::Exp, T::Exp) -> T::Exp> Monoid<T> for UserMonoid<T, F> {
    fn unit(&self) -> T::Exp {
        self.unit
    }
    fn op(&self, a: T::Exp, b: T::Exp) -> T::Exp {
        (self.op)(a, b)
    }
    fn is_commutative(&self) -> bool {
        self.commutative
    }
}

impl<T: Elem, F> UserMonoid<T, F> {
    /// Says that operands may change places, which makes folds and scatters faster.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.fold(monoid(0f32, |a, b| a.hypot(b)).commutative()))?;
    /// assert_eq!(f.call(&[3.0f32, 4.0])?.value()?, 5.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn commutative(mut self) -> Self {
        self.commutative = true;
        self
    }
}

/// A monoid from its neutral element and an associative operation.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // The last element, and how many there are.
/// let f = compile(|x: Arr<f32, N>| {
///     let last = monoid((0f32, 0u32), |(x, n), (y, m)| (m.gt(0).select(y, x), n + m));
///     x.map(|v| (v, 1u32)).fold(last)
/// })?;
/// let (last, count) = f.call(&[4.0f32, 5.0])?;
/// assert_eq!((last.value()?, count.value()?), (5.0, 2));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn monoid<T: Elem, F: Fn(T::Exp, T::Exp) -> T::Exp>(neutral: impl Lift<T>, op: F) -> UserMonoid<T, F> {
    UserMonoid { unit: neutral.lift(), op, commutative: false }
}

/// Takes a monoid apart for `f`, which records.
fn with_parts<T: Elem, R>(at: Loc, m: &impl Monoid<T>, f: impl FnOnce(MonoidParts) -> R) -> R {
    let tys = tys_of::<T>();
    let count = tys.len();
    let neutral = on_behalf(at, || handles(m.unit()));
    f(MonoidParts {
        neutral,
        tys,
        combine: &mut |both| handles(m.op(value_of(&both[..count]), value_of(&both[count..]))),
        commutative: m.is_commutative(),
    })
}

/// `fold` for the caller at `at`.
pub(crate) fn fold_at<S: Shape, T: Elem, V: Lift<T>>(at: Loc, m: &impl Monoid<T>, f: impl Fn(S::Pos) -> V) -> T::Exp {
    let folded = with_parts(at, m, |parts| {
        record::fold(at, &S::axes(), &mut |position| handles(f(value_of(position)).lift()), parts)
    });
    value_of(&folded)
}

/// Combines `f(p)` over all positions, at top level or inside a body.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| tabulate(|i: Idx<N>| fold(Product, |j: Idx<M>| x.at((i, j)))))?;
/// assert_eq!(f.call(&[[2.0f32, 3.0]])?.to_vec()?, [6.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn fold<S, P, T, V>(m: impl Monoid<T>, f: impl Fn(P) -> V) -> T::Exp
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    T: Elem,
    V: Lift<T>,
{
    fold_at::<S, T, V>(Location::caller(), &m, f)
}

/// The sum of `f(p)` over all positions: of numbers, or of tuples, `[_; N]` and structs of them, part by part.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| sum(|i| x.at(i) * y.at(i)))?;
/// assert_eq!(f.call(&[1.0f32, 2.0], &[3.0f32, 4.0])?.value()?, 11.0);
/// let f = compile(|x: Arr<f32, N>| sum(|i| [x.at(i), x.at(i) * x.at(i)]))?;
/// let [first, second] = f.call(&[1.0f32, 2.0])?;
/// assert_eq!((first.value()?, second.value()?), (3.0, 5.0));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn sum<S, P, T, V, W>(f: impl Fn(P) -> V) -> W
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    T: Additive + Elem<Exp = W>,
    V: Lift<T>,
    W: Value<Elem = T>,
{
    fold_at::<S, T, V>(Location::caller(), &Sum, f)
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $M:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<S, P, T, V>(f: impl Fn(P) -> V) -> Exp<T>
        where
            S: Shape<Pos = P>,
            P: Position<Shape = S>,
            T: Num,
            V: Lift<T>,
        {
            fold_at::<S, T, V>(Location::caller(), &$M, f)
        }
    )*};
}
folds! {
    /// The product of `f(p)` over all positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn determinant(x: Arr<f32, (N, N)>) -> Exp<f32> { product(|i| x.at((i, i))) } // of a triangle
    /// ```
    product Product;
    /// The smallest `f(p)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn nearest(x: Arr<f32, N>, y: Exp<f32>) -> Exp<f32> { minimum(|i| (x.at(i) - y).abs()) }
    /// ```
    minimum MinOf;
    /// The largest `f(p)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn norm(x: Arr<f32, (N, N)>) -> Exp<f32> { maximum(|i: Idx<N>| sum(|j| x.at((i, j)).abs())) }
    /// ```
    maximum MaxOf;
}

macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident $M:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<S, P, V>(f: impl Fn(P) -> V) -> Exp<bool>
        where
            S: Shape<Pos = P>,
            P: Position<Shape = S>,
            V: Lift<bool>,
        {
            fold_at::<S, bool, V>(Location::caller(), &$M, f)
        }
    )*};
}
tests! {
    /// Does `f(p)` hold somewhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn contains(x: Arr<u32, N>, y: Exp<u32>) -> Exp<bool> { any(|i| x.at(i).eq(y)) }
    /// ```
    any Any;
    /// Does `f(p)` hold everywhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn is_sorted(x: Arr<u32, N>) -> Exp<bool> { all(|i: Idx<N>| x.at((i - 1).clamp()).le(x.at(i))) }
    /// assert!(compile(is_sorted)?.call(&[1, 2, 2])?.value()?);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    all All;
}

/// At how many positions `f(p)` holds.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| count(|i| x.at(i).gt(1.0)))?;
/// assert_eq!(f.call(&[0.5f32, 2.0, 3.0])?.value()?, 2);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn count<S, P, V>(f: impl Fn(P) -> V) -> Exp<u64>
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    V: Lift<bool>,
{
    let at: Loc = Location::caller();
    fold_at::<S, u64, _>(at, &Sum, |p| {
        let holds = f(p).lift();
        on_behalf(at, || holds.cast::<u64>())
    })
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// All elements combined.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<u32, N>| x.fold(monoid(0u32, |a, b| a | b)))?;
    /// assert_eq!(f.call(&[1, 4])?.value()?, 5);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn fold(self, m: impl Monoid<T>) -> T::Exp {
        let at: Loc = Location::caller();
        fold_at::<S, T, _>(at, &m, |p| self.get(at, p))
    }

    /// The elements along axis number `I` combined; the outermost is 0.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.fold_axis::<1>(Product))?;
    /// assert_eq!(f.call(&[[2.0f32, 3.0]])?.to_vec()?, [6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn fold_axis<const I: usize>(self, m: impl Monoid<T>) -> Arr<T, S::Rest>
    where
        S: AxisNo<I>,
    {
        self.fold_along(Location::caller(), I, &m)
    }

    /// The elements along the axis of that name combined.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn rows(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.fold_over(M, Sum) }
    /// ```
    #[track_caller]
    pub fn fold_over<X: Axis, AxisNumber>(self, _: X, m: impl Monoid<T>) -> Arr<T, S::Rest>
    where
        S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which with `fold_axis::<0>(m)`
    {
        self.fold_along(Location::caller(), S::NUMBER, &m)
    }

    /// The elements along the innermost axis combined.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn rows(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.fold_inner(Sum) }
    /// ```
    #[track_caller]
    pub fn fold_inner(self, m: impl Monoid<T>) -> Arr<T, S::Outer>
    where
        S: Inner,
    {
        self.fold_along(Location::caller(), S::axes().len() - 1, &m)
    }

    /// Inclusive prefixes along the innermost axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.scan(Sum))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan(self, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: Inner,
    {
        self.scan_along(Location::caller(), S::axes().len() - 1, &m, false)
    }

    /// Running sums along the innermost axis; short for `scan(Sum)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.cumsum())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn cumsum(self) -> Arr<T, S>
    where
        T: Additive,
        S: Inner,
    {
        self.scan(Sum)
    }

    /// Inclusive prefixes along axis number `I`; the outermost is 0. Along any but the innermost axis the array is turned
    /// and turned back, which costs a temporary of its size.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.scan_axis::<0>(Sum))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_axis<const I: usize>(self, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: AxisNo<I>,
    {
        self.scan_along(Location::caller(), I, &m, false)
    }

    /// Inclusive prefixes along the axis of that name.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn running(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.scan_over(N, Sum) }
    /// assert_eq!(compile(running)?.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_over<X: Axis, AxisNumber>(self, _: X, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which with `scan_axis::<0>(m)`
    {
        self.scan_along(Location::caller(), S::NUMBER, &m, false)
    }

    /// Exclusive prefixes along the innermost axis: each without its own element, so the first is neutral.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|counts: Arr<u32, N>| counts.scan_exclusive(Sum))?; // where each group starts
    /// assert_eq!(f.call(&[3, 1, 2])?.to_vec()?, [0, 3, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_exclusive(self, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: Inner,
    {
        self.scan_along(Location::caller(), S::axes().len() - 1, &m, true)
    }

    /// Exclusive prefixes along axis number `I`; the outermost is 0.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.scan_exclusive_axis::<0>(Sum))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_exclusive_axis<const I: usize>(self, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: AxisNo<I>,
    {
        self.scan_along(Location::caller(), I, &m, true)
    }

    /// Exclusive prefixes along the axis of that name.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn before(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.scan_exclusive_over(N, Sum) }
    /// assert_eq!(compile(before)?.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_exclusive_over<X: Axis, AxisNumber>(self, _: X, m: impl Monoid<T>) -> Arr<T, S>
    where
        S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which with `scan_exclusive_axis::<0>(m)`
    {
        self.scan_along(Location::caller(), S::NUMBER, &m, true)
    }

    /// The array, to go along one of its axes.
    pub(crate) fn along(self, number: usize) -> Along {
        Along { array: self.handle(), count: tys_of::<T>().len(), axes: S::axes(), number }
    }

    fn fold_along<R: Shape>(self, at: Loc, number: usize, m: &impl Monoid<T>) -> Arr<T, R> {
        Arr::new(with_parts(at, m, |parts| self.along(number).fold(at, parts)))
    }

    fn scan_along(self, at: Loc, number: usize, m: &impl Monoid<T>, exclusive: bool) -> Arr<T, S> {
        Arr::new(with_parts(at, m, |parts| self.along(number).scan(at, parts, exclusive)))
    }
}

/// Folds with a built-in monoid: whole, along an axis, by name, and innermost.
macro_rules! arr_folds {
    ($M:ident $whole:ident $axis:ident $over:ident $inner:ident $what:literal) => {
        #[doc = concat!($what, " of all elements.")]
        #[track_caller]
        pub fn $whole(self) -> T::Exp {
            self.fold($M)
        }
        #[doc = concat!($what, " along axis number `I`; the outermost is 0.")]
        #[track_caller]
        pub fn $axis<const I: usize>(self) -> Arr<T, S::Rest>
        where
            S: AxisNo<I>,
        {
            self.fold_along(Location::caller(), I, &$M)
        }
        #[doc = concat!($what, " along the axis of that name.")]
        #[track_caller]
        pub fn $over<X: Axis, AxisNumber>(self, _: X) -> Arr<T, S::Rest>
        where
            S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which by number, as `sum_axis::<0>()`
        {
            self.fold_along(Location::caller(), S::NUMBER, &$M)
        }
        #[doc = concat!($what, " along the innermost axis.")]
        #[track_caller]
        pub fn $inner(self) -> Arr<T, S::Outer>
        where
            S: Inner,
        {
            self.fold_along(Location::caller(), S::axes().len() - 1, &$M)
        }
    };
}
/// Folds of numbers, each in four forms. Sums also take tuples, `[_; N]` and derived structs of numbers, part by part.
///
/// | all elements | along axis number `I` | along the axis of that name | along the innermost axis |
/// |---|---|---|---|
/// | `x.sum()` | `x.sum_axis::<I>()` | `x.sum_over(M)` | `x.sum_inner()` |
/// | `x.product()` | `x.product_axis::<I>()` | `x.product_over(M)` | `x.product_inner()` |
/// | `x.min()` | `x.min_axis::<I>()` | `x.min_over(M)` | `x.min_inner()` |
/// | `x.max()` | `x.max_axis::<I>()` | `x.max_over(M)` | `x.max_inner()` |
/// | `x.mean()` | `x.mean_axis::<I>()` | `x.mean_over(M)` | `x.mean_inner()` |
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| (x.sum(), x.product_axis::<0>(), x.min_over(M), x.max_inner()))?;
/// let (sum, products, least, most) = f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?;
/// assert_eq!((sum.value()?, products.to_vec()?), (10.0, vec![3.0, 8.0]));
/// assert_eq!((least.to_vec()?, most.to_vec()?), (vec![1.0, 3.0], vec![2.0, 4.0]));
///
/// #[derive(Clone, Copy, slyz::Elem)]
/// struct Vector<T> { x: T, y: T }
/// let f = compile(|v: Arr<Vector<f32>, N>| v.sum())?;
/// let total = f.call(&[Vector { x: 1.0f32, y: 2.0 }, Vector { x: 3.0, y: 4.0 }])?.value()?;
/// assert_eq!((total.x, total.y), (4.0, 6.0));
/// # Ok::<(), slyz::Error>(())
/// ```
impl<T: Additive, S: Shape> Arr<T, S> {
    arr_folds!(Sum sum sum_axis sum_over sum_inner "The sum");
}

impl<T: Num, S: Shape> Arr<T, S> {
    arr_folds!(Product product product_axis product_over product_inner "The product");
    arr_folds!(MinOf min min_axis min_over min_inner "The smallest");
    arr_folds!(MaxOf max max_axis max_over max_inner "The largest");
}

/// Means. The mean of nothing is NaN; `f16` and `bf16` are added up in `f32`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| (x.mean(), x.mean_axis::<0>(), x.mean_over(M), (x - x.mean()).abs().mean()))?;
/// let (all, columns, rows, spread) = f.call(&[[1.0f32, 2.0], [3.0, 6.0]])?;
/// assert_eq!((all.value()?, columns.to_vec()?, rows.to_vec()?), (3.0, vec![2.0, 4.0], vec![1.5, 4.5]));
/// assert_eq!(spread.value()?, 1.5);
/// # Ok::<(), slyz::Error>(())
/// ```
impl<T: Float, S: Shape> Arr<T, S> {
    /// The mean of all elements.
    #[track_caller]
    pub fn mean(self) -> Exp<T> {
        let at: Loc = Location::caller();
        let element = &mut |position: &[Handle]| record::read(at, self.handle(), 1, position)[0];
        Exp::new(along::mean(at, T::TY, &S::axes(), element))
    }

    /// The means along axis number `I`; the outermost is 0.
    #[track_caller]
    pub fn mean_axis<const I: usize>(self) -> Arr<T, S::Rest>
    where
        S: AxisNo<I>,
    {
        Arr::new(self.along(I).mean(Location::caller(), T::TY))
    }

    /// The means along the axis of that name.
    #[track_caller]
    pub fn mean_over<X: Axis, AxisNumber>(self, _: X) -> Arr<T, S::Rest>
    where
        S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which with `mean_axis::<0>()`
    {
        Arr::new(self.along(S::NUMBER).mean(Location::caller(), T::TY))
    }

    /// The means along the innermost axis.
    #[track_caller]
    pub fn mean_inner(self) -> Arr<T, S::Outer>
    where
        S: Inner,
    {
        Arr::new(self.along(S::axes().len() - 1).mean(Location::caller(), T::TY))
    }
}

impl<S: Shape> Arr<bool, S> {
    /// Does it hold somewhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn has_nan(x: Arr<f32, N>) -> Exp<bool> { x.map(|v| v.is_nan()).any() }
    /// ```
    #[track_caller]
    pub fn any(self) -> Exp<bool> {
        self.fold(Any)
    }

    /// Does it hold everywhere?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn is_finite(x: Arr<f32, N>) -> Exp<bool> { x.map(|v| v.is_finite()).all() }
    /// ```
    #[track_caller]
    pub fn all(self) -> Exp<bool> {
        self.fold(All)
    }

    /// At how many positions it holds.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.map(|v| v.gt(0)).count())?;
    /// assert_eq!(f.call(&[1, -1, 5])?.value()?, 2);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn count(self) -> Exp<u64> {
        let at: Loc = Location::caller();
        fold_at::<S, u64, _>(at, &Sum, |p| on_behalf(at, || self.get(at, p).cast::<u64>()))
    }
}

macro_rules! bests {
    ($($(#[$doc:meta])* $name:ident $axis:ident $over:ident $inner:ident $op:ident $what:literal;)*) => {
        $($(#[$doc])*
        #[track_caller]
        pub fn $name<A: Axis, T: Num, V: Lift<T>>(f: impl Fn(Idx<A>) -> V) -> Idx<A> {
            let at: Loc = Location::caller();
            let value = &mut |i: Handle| f(Idx::new(i)).lift().handle();
            Idx::new(along::best(at, &Extent::of::<A>(), T::TY, Operator::$op, value))
        })*
        impl<T: Num, S: Shape> Arr<T, S> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> Idx<S>
            where
                S: OneAxis,
            {
                let at: Loc = Location::caller();
                let value = &mut |i: Handle| record::read(at, self.handle(), 1, &[i])[0];
                Idx::new(along::best(at, &Extent::of::<S>(), T::TY, Operator::$op, value))
            }
        )*}
        /// The positions of the largest and smallest values along one axis, which must not be empty. Ties go to the first
        /// position; a NaN wins only when all are NaN.
        ///
        /// ```
        /// use slyz::prelude::*;
        /// axis!(N, M);
        /// let f = compile(|x: Arr<f32, (N, M)>| (x.argmax_inner(), x.argmin_over(N)))?;
        /// let (most, least) = f.call(&[[1.0f32, 7.0, 3.0], [4.0, 0.0, 2.0]])?;
        /// assert_eq!(most.to_vec()?, [At::new(1), At::new(0)]);
        /// assert_eq!(least.to_vec()?, [At::new(0), At::new(1), At::new(1)]);
        /// # Ok::<(), slyz::Error>(())
        /// ```
        impl<T: Num, S: Shape> Arr<T, S> {$(
            #[doc = concat!("The positions of the ", $what, " values along axis number `I`; the outermost is 0.")]
            #[track_caller]
            pub fn $axis<const I: usize>(self) -> Arr<At<S::Axis>, S::Rest>
            where
                S: AxisNo<I>,
            {
                Arr::new(self.along(I).best(Location::caller(), T::TY, Operator::$op))
            }
            #[doc = concat!("The positions of the ", $what, " values along the axis of that name.")]
            #[track_caller]
            pub fn $over<X: Axis, AxisNumber>(self, _: X) -> Arr<At<X>, S::Rest>
            where
                S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which by number, as `argmax_axis::<0>()`
            {
                Arr::new(self.along(S::NUMBER).best(Location::caller(), T::TY, Operator::$op))
            }
            #[doc = concat!("The positions of the ", $what, " values along the innermost axis.")]
            #[track_caller]
            pub fn $inner(self) -> Arr<At<S::Inner>, S::Outer>
            where
                S: Inner,
            {
                Arr::new(self.along(S::axes().len() - 1).best(Location::caller(), T::TY, Operator::$op))
            }
        )*}
    };
}
bests! {
    /// The position of the largest value; the first of several. A NaN wins only when all are NaN.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn best(x: Arr<f32, N>) -> Idx<N> { x.argmax() }
    /// fn nearest(x: Arr<f32, N>, y: Exp<f32>) -> Idx<N> { argmax(|i| (x.at(i) - y).abs()) }
    /// ```
    argmax argmax_axis argmax_over argmax_inner Gt "largest";
    /// The position of the smallest value; the first of several. A NaN wins only when all are NaN.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn best(x: Arr<f32, N>) -> Idx<N> { x.argmin() }
    /// fn nearest(x: Arr<f32, N>, y: Exp<f32>) -> Idx<N> { argmin(|i| (x.at(i) - y).abs()) }
    /// ```
    argmin argmin_axis argmin_over argmin_inner Lt "smallest";
}

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
pub trait Place {
    /// The shape it is a place of.
    type Shape: Shape;

    #[doc(hidden)]
    fn numbers(self, out: &mut Vec<Handle>);
}

impl<A: Axis> Place for Idx<A> {
    type Shape = A;
    fn numbers(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
}

impl<A: Axis> Place for Near<A> {
    type Shape = A;
    fn numbers(self, out: &mut Vec<Handle>) {
        out.push(self.handle())
    }
}

macro_rules! places {
    ($($P:ident $A:ident $i:tt),*) => {
        impl<$($A: Axis, $P: Place<Shape = $A>),*> Place for ($($P,)*) {
            type Shape = ($($A,)*);
            fn numbers(self, out: &mut Vec<Handle>) { $(self.$i.numbers(out);)* }
        }
    };
}
places!(P A 0, Q B 1);
places!(P A 0, Q B 1, R C 2);
places!(P A 0, Q B 1, R C 2, S D 3);

/// For each position, combines a value into a computed place, in order; what falls outside is dropped.
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
    W: Place,
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

impl<T: Elem, S: Shape> Arr<T, S> {
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
        let at: Loc = Location::caller();
        let body = &mut |position: &[Handle]| {
            let element = self.get(at, value_of(position));
            let mut out = vec![keep(element).handle()];
            out.extend(handles(element));
            out
        };
        Arr::new(record::filter(at, &Extent::of::<S>(), &Extent::of::<K>(), body))
    }
}
