//! Monoids: what folds, scans and scatters combine with. What they record is in `record.rs`.

use crate::elem::{Additive, Elem, Exp, Lift, Num, handles, holds_positions, lit, tys_of, value_of};
use crate::record::{self, MonoidParts};
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
pub(crate) fn with_parts<T: Elem, R>(at: Loc, m: &impl Monoid<T>, f: impl FnOnce(MonoidParts) -> R) -> R {
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
