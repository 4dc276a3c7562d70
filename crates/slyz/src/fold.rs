//! Folds of a function of positions: `sum(|i| ..)` and its kin, at top level or inside a body. Those of arrays are in `along.rs`.

use crate::elem::{Additive, Elem, Exp, Lift, Num, Value, handles, value_of};
use crate::lines;
use crate::monoid::{All, Any, MaxOf, MinOf, Monoid, Product, Sum, with_parts};
use crate::record;
use crate::shape::{Position, Shape};
use crate::trace::{Handle, Loc, on_behalf};
use slyz_sir::ops::Operator;
use std::panic::Location;

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
    /// The smallest `f(p)`. The smaller of two is `a.min(b)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn nearest(x: Arr<f32, N>, y: Exp<f32>) -> Exp<f32> { min(|i| (x.at(i) - y).abs()) }
    /// ```
    min MinOf; // the smaller of two: `a.min(b)`
    /// The largest `f(p)`. The larger of two is `a.max(b)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn norm(x: Arr<f32, (N, N)>) -> Exp<f32> { max(|i: Idx<N>| sum(|j| x.at((i, j)).abs())) }
    /// ```
    max MaxOf; // the larger of two: `a.max(b)`
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

macro_rules! bests {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<S, P, T, V>(f: impl Fn(P) -> V) -> P
        where
            S: Shape<Pos = P>,
            P: Position<Shape = S>,
            T: Num,
            V: Lift<T>,
        {
            let at: Loc = Location::caller();
            let value = &mut |position: &[Handle]| f(value_of(position)).lift().handle();
            value_of(&lines::best(at, &S::axes(), T::TY, Operator::$op, value))
        }
    )*};
}
bests! {
    /// The position of the largest `f(p)`; the first of several. A NaN wins only when all are NaN.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn farthest(x: Arr<f32, N>, y: Exp<f32>) -> Idx<N> { argmax(|i| (x.at(i) - y).abs()) }
    /// ```
    argmax Gt;
    /// The position of the smallest `f(p)`; the first of several. A NaN wins only when all are NaN.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn nearest(x: Arr<f32, N>, y: Exp<f32>) -> Idx<N> { argmin(|i| (x.at(i) - y).abs()) }
    /// ```
    argmin Lt;
}
