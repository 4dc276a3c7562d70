//! Arrays combined: of all elements, and along one axis.
//!
//! [`Along`] is an array and one of its axes. It has the same folds as the whole array, by the same names; the lists below give
//! both their methods. What they record is in `lines.rs`.

use crate::arr::Arr;
use crate::elem::{Additive, Elem, Exp, Float, Num, tys_of, value_of};
use crate::extent::{Axis, Extent};
use crate::fold::fold_at;
use crate::lines::{self, Lines};
use crate::moment::{Moment, moment};
use crate::monoid::{All, Any, MaxOf, MinOf, Monoid, Product, Sum, with_parts};
use crate::position::At;
use crate::record;
use crate::shape::{AxisNamed, AxisNo, HasAxis, Inner, Innermost, Insert, No, OneAxis, Shape};
use crate::trace::{Handle, Loc};
use slyz_sir::ops::Operator;
use std::marker::PhantomData;
use std::panic::Location;

/// An array along one of its axes: the axis called `M` with `x.over(M)`, axis number 0, the outermost, with `x.axis::<0>()`, and
/// the last with `x.innermost()`. What combines the elements of a whole array combines those along the axis.
///
/// | method | of the array `x` | of `x.over(M)`, where `x` has the shape `(N, M)` |
/// |---|---|---|
/// | `sum()`, `product()`, `min()`, `max()`, `fold(monoid)` | a scalar | one for each `N` |
/// | `mean()`, `var()`, `std()`, `sample_var()`, `sample_std()`, `norm()`, of floats | a scalar | one for each `N` |
/// | `any()`, `all()`, `count()`, of `bool` | a scalar | one for each `N` |
/// | `argmin()`, `argmax()` | a position of `x` | a position on `M` for each `N` |
/// | `scan(monoid)`, `scan_exclusive(monoid)`, `cumsum()`, `cumprod()` | prefixes, if `x` has one axis | prefixes of each row |
/// | `segmented_scan(monoid, starts)` | prefixes of each segment, if `x` has one axis | of each row |
/// | `partition(first)` | what is chosen, then the others, and how many, if `x` has one axis | of each row |
/// | `slice::<K>(start)`, `slice_by`, `step_by`, `window` | a part, if `x` has one axis | of each row |
/// | `sort()`, `sort_by_key(key)`, `argsort()`, `argsort_by_key(key)`, `top_k::<K>()` | in order, if `x` has one axis | each row |
/// | `pad`, `roll(k)`, `shift(k, fill)`, `repeat`, `tile`, `concat`, `reverse()` | if `x` has one axis | of each row |
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| (x.sum(), x.axis::<0>().product(), x.over(M).min(), x.innermost().max()))?;
/// let (sum, products, least, most) = f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?;
/// assert_eq!((sum.value()?, products.to_vec()?), (10.0, vec![3.0, 8.0]));
/// assert_eq!((least.to_vec()?, most.to_vec()?), (vec![1.0, 3.0], vec![2.0, 4.0]));
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Along<T: Elem, S: Shape, P> {
    array: Arr<T, S>,
    place: PhantomData<fn() -> P>,
}

impl<T: Elem, S: Shape, P> Clone for Along<T, S, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Elem, S: Shape, P> Copy for Along<T, S, P> {}

impl<T: Elem, S: HasAxis<P>, P> std::fmt::Debug for Along<T, S, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:?} along axis number {}", self.array, S::number())
    }
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The array along the axis of that name.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn rows(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.over(M).sum() }
    /// ```
    pub fn over<X: Axis, AxisNumber>(self, _: X) -> Along<T, S, AxisNumber>
    where
        S: AxisNamed<X, AxisNumber>, // a shape may name an axis twice: say which by number, as `x.axis::<0>()`
    {
        self.along()
    }

    /// The array along axis number `I`; the outermost is 0.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn columns(x: Arr<f32, (N, M)>) -> Arr<f32, M> { x.axis::<0>().sum() }
    /// ```
    pub fn axis<const I: usize>(self) -> Along<T, S, No<I>>
    where
        S: AxisNo<I>,
    {
        self.along()
    }

    /// The array along its last axis, whatever that is called.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn rows<S: Inner>(x: Arr<f32, S>) -> Arr<f32, S::Rest> { x.innermost().sum() }
    /// assert_eq!(compile(rows::<(N, M)>)?.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [3.0, 7.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn innermost(self) -> Along<T, S, Innermost>
    where
        S: Inner,
    {
        self.along()
    }

    pub(crate) fn along<P>(self) -> Along<T, S, P> {
        Along { array: self, place: PhantomData }
    }
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    pub(crate) fn array(self) -> Arr<T, S> {
        self.array
    }

    /// The array as lines along the axis.
    pub(crate) fn lines(self) -> Lines {
        Lines { array: self.array.handle(), count: tys_of::<T>().len(), axes: S::axes(), number: S::number() }
    }
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
        fold_at::<S, T, _>(at, &m, |p| self.element(at, p))
    }
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// The elements along the axis combined.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).fold(monoid(0f32, |a, b| a.hypot(b))))?;
    /// assert_eq!(f.call(&[[3.0f32, 4.0]])?.to_vec()?, [5.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn fold(self, m: impl Monoid<T>) -> Arr<T, S::Rest> {
        let at: Loc = Location::caller();
        Arr::new(with_parts(at, &m, |parts| self.lines().fold(at, parts)))
    }
}

/// Folds with a monoid that has a name, of all elements and along an axis. Rustc shows a line of the list beside a wrong argument.
macro_rules! folds {
    ($($name:ident $E:ident $(: $B:ident)?, $M:ident $what:literal;)*) => {$(
        impl<$($E: $B,)? S: Shape> Arr<$E, S> {
            #[doc = concat!($what, " all elements; short for `fold(", stringify!($M), ")`.")]
            #[track_caller]
            pub fn $name(self) -> <$E as Elem>::Exp {
                self.fold($M)
            }
        }
        impl<$($E: $B,)? S: HasAxis<P>, P> Along<$E, S, P> {
            #[doc = concat!($what, " the elements along the axis; short for `fold(", stringify!($M), ")`.")]
            #[track_caller]
            pub fn $name(self) -> Arr<$E, S::Rest> {
                self.fold($M)
            }
        }
    )*};
}
folds! {
    sum T: Additive, Sum "The sum of";
    product T: Num, Product "The product of";
    min T: Num, MinOf "The smallest of"; // of two arrays, element by element: `x.minimum(y)`
    max T: Num, MaxOf "The largest of"; // of two arrays, element by element: `x.maximum(y)`
    any bool, Any "Does it hold for any of";
    all bool, All "Does it hold for all of";
}

impl<S: Shape> Arr<bool, S> {
    /// At how many positions it holds.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<i32, N>| x.gt(0).count())?;
    /// assert_eq!(f.call(&[1, -1, 5])?.value()?, 2);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn count(self) -> Exp<u64> {
        self.cast::<u64>().sum()
    }
}

impl<S: HasAxis<P>, P> Along<bool, S, P> {
    /// At how many positions along the axis it holds.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<i32, (N, M)>| x.gt(0).over(M).count())?;
    /// assert_eq!(f.call(&[[1, -1], [5, 6]])?.to_vec()?, [1, 2]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn count(self) -> Arr<u64, S::Rest> {
        self.array.cast::<u64>().along::<P>().sum()
    }
}

/// Moments of floats, of all elements and along an axis. `$of_two` is what [3, 5] and [6, 8] give, rounded.
macro_rules! moments {
    ($($name:ident $moment:expr, $what:literal, $empty:literal, $of_two:literal;)*) => {$(
        impl<T: Float, S: Shape> Arr<T, S> {
            #[doc = concat!($what, " of all elements; of nothing it is ", $empty, ". `f16` and `bf16` are added up in `f32`.")]
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N);
            #[doc = concat!("fn of_all(x: Arr<f32, N>) -> Exp<f32> { x.", stringify!($name), "() }")]
            /// ```
            #[track_caller]
            pub fn $name(self) -> Exp<T> {
                let at: Loc = Location::caller();
                let element = &mut |position: &[Handle]| record::read(at, self.handle(), 1, position)[0];
                Exp::new(moment(at, T::TY, &S::axes(), $moment, element))
            }
        }
        impl<T: Float, S: HasAxis<P>, P> Along<T, S, P> {
            #[doc = concat!($what, " of the elements along the axis; of nothing it is ", $empty, ".")]
            /// `f16` and `bf16` are added up in `f32`.
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N, M);
            #[doc = concat!("let f = compile(|x: Arr<f32, (N, M)>| x.over(M).", stringify!($name), "().round())?;")]
            #[doc = concat!("assert_eq!(f.call(&[[3.0f32, 5.0], [6.0, 8.0]])?.to_vec()?, ", $of_two, ");")]
            /// # Ok::<(), slyz::Error>(())
            /// ```
            #[track_caller]
            pub fn $name(self) -> Arr<T, S::Rest> {
                let at: Loc = Location::caller();
                Arr::new(self.lines().each(at, &|axes, value| moment(at, T::TY, axes, $moment, value)))
            }
        }
    )*};
}
moments! {
    mean Moment::Mean, "The mean", "NaN", "[4.0, 7.0]";
    var Moment::Variance(0), "The variance, the mean square distance from the mean,", "NaN", "[1.0, 1.0]";
    std Moment::Deviation(0), "The standard deviation, the root of the variance,", "NaN", "[1.0, 1.0]";
    sample_var Moment::Variance(1), "The variance, estimated from a sample: divided by one less than there are,", "NaN", "[2.0, 2.0]";
    sample_std Moment::Deviation(1), "The standard deviation, estimated from a sample,", "NaN", "[1.0, 1.0]";
    norm Moment::Norm, "The length as a vector, the root of the sum of squares,", "0", "[6.0, 10.0]";
}

/// Best positions, of all and along an axis.
macro_rules! bests {
    ($($name:ident $op:ident $what:literal;)*) => {$(
        impl<T: Num, S: Shape> Arr<T, S> {
            #[doc = concat!("The position of the ", $what, " element, of which there must be one; the first of several.")]
            /// A NaN wins only when all are NaN.
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N, M);
            #[doc = concat!("fn best(x: Arr<f32, N>) -> Idx<N> { x.", stringify!($name), "() }")]
            #[doc = concat!("fn cell(x: Arr<f32, (N, M)>) -> (Idx<N>, Idx<M>) { x.", stringify!($name), "() }")]
            /// ```
            #[track_caller]
            pub fn $name(self) -> S::Pos {
                let at: Loc = Location::caller();
                let element = &mut |position: &[Handle]| record::read(at, self.handle(), 1, position)[0];
                value_of(&lines::best(at, &S::axes(), T::TY, Operator::$op, element))
            }
        }
        impl<T: Num, S: HasAxis<P>, P> Along<T, S, P> {
            #[doc = concat!("The positions of the ", $what, " elements along the axis, which must not be empty; the first of several.")]
            /// A NaN wins only when all are NaN.
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N, M);
            #[doc = concat!("fn best(x: Arr<f32, (N, M)>) -> Arr<At<M>, N> { x.over(M).", stringify!($name), "() }")]
            /// ```
            #[track_caller]
            pub fn $name(self) -> Arr<At<S::Axis>, S::Rest> {
                Arr::new(self.lines().best(Location::caller(), T::TY, Operator::$op))
            }
        }
    )*};
}
bests! {
    argmax Gt "largest";
    argmin Lt "smallest";
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// Inclusive prefixes of an array of one axis.
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
        S: OneAxis,
    {
        self.along::<Innermost>().scan(m)
    }

    /// Exclusive prefixes of an array of one axis: each without its own element, so the first is neutral.
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
        S: OneAxis,
    {
        self.along::<Innermost>().scan_exclusive(m)
    }

    /// `K` elements of an array of one axis, from `start` on. That they are there is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.slice::<Fix<2>>(1))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [2.0, 3.0]);
    /// assert!(f.call(&[1.0f32, 2.0]).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn slice<K: Axis>(self, start: u64) -> Arr<T, K>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().slice::<K>(start)
    }

    /// The elements of an array of one axis from the last to the first.
    #[doc(alias = "flip")]
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.reverse())?;
    /// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [2.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn reverse(self) -> Arr<T, S>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().reverse()
    }
}

impl<T: Elem, S: HasAxis<P>, P> Along<T, S, P> {
    /// Inclusive prefixes along the axis. Along any but the innermost the array is turned and turned back, which costs a
    /// temporary of its size.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(N).scan(Sum))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan(self, m: impl Monoid<T>) -> Arr<T, S> {
        self.prefixes(Location::caller(), &m, false)
    }

    /// Exclusive prefixes along the axis: each without its own element, so the first is neutral.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(N).scan_exclusive(Sum))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn scan_exclusive(self, m: impl Monoid<T>) -> Arr<T, S> {
        self.prefixes(Location::caller(), &m, true)
    }

    fn prefixes(self, at: Loc, m: &impl Monoid<T>, exclusive: bool) -> Arr<T, S> {
        Arr::new(with_parts(at, m, |parts| self.lines().scan(at, parts, exclusive)))
    }

    /// `K` elements along the axis, from `start` on. That they are there is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).slice::<Fix<2>>(1))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?.to_vec()?, [2.0, 3.0, 5.0, 6.0]);
    /// assert!(f.call(&[[1.0f32, 2.0]]).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn slice<K: Axis>(self, start: u64) -> Arr<T, <S::Rest as Insert<K, P>>::Out>
    where
        S::Rest: Insert<K, P>,
    {
        Arr::new(self.lines().slice(Location::caller(), &Extent::of::<K>(), start))
    }

    /// The elements along the axis from the last to the first.
    #[doc(alias = "flip")]
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn mirrored(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.over(M).reverse() }
    /// assert_eq!(compile(mirrored)?.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [2.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn reverse(self) -> Arr<T, S> {
        Arr::new(self.lines().reverse(Location::caller()))
    }
}
