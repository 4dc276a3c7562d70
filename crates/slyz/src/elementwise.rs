//! Arrays element by element: infix operators, mathematics, comparisons and selection.
//!
//! What stands beside an array is another one whose shape aligns, a traced scalar, or a constant. Each method only names
//! a row of the operator table; what is recorded is in `record::elementwise`, once for all of them.

use crate::arr::Arr;
use crate::elem::{Bits, Elem, Exp, Float, Int, Num, Scalar, tys_of};
use crate::operators::{bits_of_integers, mathematics};
use crate::record::{self, Operand};
use crate::shape::{Align, Shape};
use crate::trace::Loc;
use half::{bf16, f16};
use slyz_sir::ops::Operator;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use std::panic::Location;

/// What may stand beside an `Arr<T, S>`, element by element: an array of `T` whose shape aligns with `S` from the
/// innermost axis, an `Exp<T>`, or a constant.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>, floor: Arr<f32, M>| x.maximum(floor).minimum(4.0))?;
/// assert_eq!(f.call(&[[1.0f32, 2.0], [9.0, 1.0]], &[2.0f32, 0.0])?.to_vec()?, [2.0, 2.0, 4.0, 1.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside an array of `{T}`: constants are `2.0` for floats, `2` for integers; the rest is converted with `.cast::<{T}>()`",
    label = "expected an `Arr<{T}, _>`, an `Exp<{T}>` or a constant `{T}`"
)]
pub trait Beside<T: Elem, S: Shape> {
    /// The shape of the result: the longer one.
    type Out: Shape;

    #[doc(hidden)]
    fn operand(self) -> Operand;
}

impl<T: Elem, S: Align<R>, R: Shape> Beside<T, S> for Arr<T, R> {
    type Out = S::Out;
    fn operand(self) -> Operand {
        Operand::Array { array: self.handle(), count: tys_of::<T>().len(), rank: R::axes().len() }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar, S: Shape> Beside<T, S> for Exp<T> {
    type Out = S;
    fn operand(self) -> Operand {
        Operand::Scalar(self.handle())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar, S: Shape> Beside<T, S> for T {
    type Out = S;
    fn operand(self) -> Operand {
        Operand::Constant(self.scalar())
    }
}

/// The operand of an array beside itself.
fn whole<T: Elem, S: Shape>(x: Arr<T, S>) -> Operand {
    Beside::<T, S>::operand(x)
}

/// One operator on all elements; the operands fit into `S`.
fn apply<T: Elem, S: Shape>(at: Loc, operator: Operator, operands: &[Operand]) -> Arr<T, S> {
    Arr::new(record::elementwise(at, operator, &S::axes(), tys_of::<T>().len(), operands))
}

/// Infix operators: arrays with what may stand beside them, and constants with arrays. For one type of integers and one of floats
/// the latter is implemented for every element and then bounded: so it is what a literal of the wrong kind is held to, and the
/// message is that of the bound.
macro_rules! infix {
    ($B:ident; $ts:tt $any:tt; $($Tr:ident $m:ident $op:ident),*) => {$(infix!(@ $B; $ts $any; $Tr $m $op);)*};
    (@ $B:ident; ($($t:ident)*) ($($any:ident)*); $Tr:ident $m:ident $op:ident) => {
        impl<T: $B, S: Shape, R: Beside<T, S>> $Tr<R> for Arr<T, S> {
            type Output = Arr<T, R::Out>;
            #[track_caller]
            fn $m(self, other: R) -> Self::Output {
                apply(Location::caller(), Operator::$op, &[whole(self), other.operand()])
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $B, S: Shape> $Tr<Arr<T, S>> for Exp<T> {
            type Output = Arr<T, S>;
            #[track_caller]
            fn $m(self, other: Arr<T, S>) -> Arr<T, S> {
                apply(Location::caller(), Operator::$op, &[Operand::Scalar(self.handle()), whole(other)])
            }
        }
        $(#[diagnostic::do_not_recommend]
        impl<S: Shape> $Tr<Arr<$t, S>> for $t {
            type Output = Arr<$t, S>;
            #[track_caller]
            fn $m(self, other: Arr<$t, S>) -> Arr<$t, S> {
                apply(Location::caller(), Operator::$op, &[Operand::Constant(self.scalar()), whole(other)])
            }
        })*
        $(impl<T: $B, S: Shape> $Tr<Arr<T, S>> for $any
        where
            $any: Beside<T, S>,
        {
            type Output = Arr<T, S>;
            #[track_caller]
            fn $m(self, other: Arr<T, S>) -> Arr<T, S> {
                apply(Location::caller(), Operator::$op, &[Operand::Constant(self.scalar()), whole(other)])
            }
        })*
    };
}
infix!(Num; (f32 f16 bf16 i8 i16 i64 u8 u16 u32 u64) (i32 f64);
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
infix!(Bits; (i8 i16 i64 u8 u16 u32 u64 bool) (i32); BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);
infix!(Int; (i8 i16 i64 u8 u16 u32 u64) (i32); Shl shl Shl, Shr shr Shr);

impl<T: Num, S: Shape> Neg for Arr<T, S> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        apply(Location::caller(), Operator::Neg, &[whole(self)])
    }
}

impl<T: Bits, S: Shape> Not for Arr<T, S> {
    type Output = Self;
    #[track_caller]
    fn not(self) -> Self {
        apply(Location::caller(), Operator::Not, &[whole(self)])
    }
}

/// Methods of `Arr<T, S>` that are one operator of the table on each element. Result: the `same` type or a `test`.
macro_rules! methods {
    ($(#[$about:meta])* $B:ident; $($m:ident($($arg:ident)?) -> $kind:ident $op:ident $what:literal;)*) => {
        $(#[$about])*
        impl<T: $B, S: Shape> Arr<T, S> {$(methods!(@ $m ($($arg)?) $kind $op $what);)*}
    };
    (@elem same) => { T };
    (@elem test) => { bool };
    (@ $m:ident () $kind:ident $op:ident $what:literal) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m(self) -> Arr<methods!(@elem $kind), S> {
            apply(Location::caller(), Operator::$op, &[whole(self)])
        }
    };
    (@ $m:ident ($arg:ident) $kind:ident $op:ident $what:literal) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m<R: Beside<T, S>>(self, $arg: R) -> Arr<methods!(@elem $kind), R::Out> {
            apply(Location::caller(), Operator::$op, &[whole(self), $arg.operand()])
        }
    };
}
methods! {
    /// Comparisons, element by element, with an array that aligns, a scalar or a constant. They are methods, because
    /// Rust's `<` gives one `bool` at once.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| (x.lt(y) | x.eq(3.0)) & !x.gt(y))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0], &[2.0f32, 2.0, 3.0])?.to_vec()?, [true, false, true]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Scalar;
    lt(other) -> test Lt "Where it is less than `other`; nowhere for NaN.";
    le(other) -> test Le "Where it is at most `other`; nowhere for NaN.";
    gt(other) -> test Gt "Where it is greater than `other`; nowhere for NaN.";
    ge(other) -> test Ge "Where it is at least `other`; nowhere for NaN.";
    eq(other) -> test Eq "Where it equals `other`; nowhere for NaN.";
    ne(other) -> test Ne "Where it differs from `other`; everywhere for NaN.";
}
methods! {
    /// Arithmetic without an infix operator, element by element. `max` and `min` are std's: of a number and another the larger, as
    /// `f32::max`; of many the largest, as `Iterator::max`. Element by element it is `maximum` and `minimum`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn shrink(x: Arr<f32, N>, by: Exp<f32>) -> Arr<f32, N> { x.sign() * (x.abs() - by).maximum(0.0) }
    /// assert_eq!(compile(shrink)?.call(&[-3.0f32, 0.5], 1.0)?.to_vec()?, [-2.0, 0.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Num;
    abs() -> same Abs "The absolute value of each element.";
    sign() -> same Sign "-1, 0 or 1 for each element.";
    maximum(other) -> same Max "The larger of two, element by element; a NaN loses.";
    minimum(other) -> same Min "The smaller of two, element by element; a NaN loses.";
}
bits_of_integers! {
    methods
    /// Bits of integers, element by element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<u32, N>| x.count_ones() + (x << 4))?;
    /// assert_eq!(f.call(&[3])?.to_vec()?, [50]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
}
mathematics! {
    methods
    /// Mathematics, element by element; what each means is said at [`Exp`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| (x.sqrt(), x.exp().ln().round(), x.powf(2.0) + x.recip().floor()))?;
    /// let (roots, same, powers) = f.call(&[4.0f32, 1.0])?;
    /// assert_eq!((roots.to_vec()?, same.to_vec()?, powers.to_vec()?), (vec![2.0, 1.0], vec![4.0, 1.0], vec![16.0, 2.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
}

impl<T: Scalar, S: Shape> Arr<T, S> {
    /// Each element converted to another type.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn whole(x: Arr<f32, N>) -> Arr<i32, N> { x.cast::<i32>() }
    /// ```
    #[track_caller]
    pub fn cast<U: Scalar>(self) -> Arr<U, S> {
        Arr::new(record::cast_array(Location::caller(), U::TY, &S::axes(), self.handle()))
    }
}

impl<T: Num, S: Shape> Arr<T, S> {
    /// `min(max(x, low), high)` of each element; the bounds are constants, scalars or arrays that fit into the shape.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.clamp(0.0, 1.0))?;
    /// assert_eq!(f.call(&[-1.0f32, 0.5, 7.0])?.to_vec()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp(self, low: impl Beside<T, S, Out = S>, high: impl Beside<T, S, Out = S>) -> Self {
        apply(Location::caller(), Operator::Clamp, &[whole(self), low.operand(), high.operand()])
    }

    /// `x * a + b` with one rounding, element by element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn saxpy(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { x.mul_add(a, y) }
    /// assert_eq!(compile(saxpy)?.call(2.0, &[1.0f32, 2.0], &[10.0f32, 20.0])?.to_vec()?, [12.0, 24.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn mul_add(self, a: impl Beside<T, S, Out = S>, b: impl Beside<T, S, Out = S>) -> Self {
        apply(Location::caller(), Operator::Fma, &[whole(self), a.operand(), b.operand()])
    }
}

impl<T: Float, S: Shape> Arr<T, S> {
    /// Each element to a whole power, by squaring: `x.powi(2)` is `x * x`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.powi(3))?;
    /// assert_eq!(f.call(&[2.0f32, -1.0])?.to_vec()?, [8.0, -1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn powi<R: Beside<i32, S>>(self, exponent: R) -> Arr<T, R::Out> {
        apply(Location::caller(), Operator::Powi, &[whole(self), exponent.operand()])
    }
}

impl<S: Shape> Arr<bool, S> {
    /// `a` where it holds, else `b`, element by element. Both are computed.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn relu(x: Arr<f32, N>) -> Arr<f32, N> { x.gt(0.0).select(x, 0.0) }
    /// assert_eq!(compile(relu)?.call(&[-1.0f32, 2.0])?.to_vec()?, [0.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn select<T: Elem>(self, a: impl Beside<T, S, Out = S>, b: impl Beside<T, S, Out = S>) -> Arr<T, S> {
        apply(Location::caller(), Operator::Select, &[whole(self), a.operand(), b.operand()])
    }
}
