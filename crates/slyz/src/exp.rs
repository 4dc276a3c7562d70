//! Every operator on scalars in traced code, and what may stand beside them.
//!
//! The operators are the rows of the table in `slyz-sir`; here they only get their Rust spelling, from one list per
//! trait or bound.

use crate::elem::{
    BesideExp, Bits, ElemOf, Exp, Float, Int, Lift, Num, OneNumber, Scalar, Traced, handles, lit, value_of,
};
use crate::operators::{bits_of_integers, mathematics};
use crate::record;
use crate::trace::Loc;
use half::{bf16, f16};
use slyz_sir::ops::Operator;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};
use std::panic::Location;

impl<T: Scalar> From<T> for Exp<T> {
    #[track_caller]
    fn from(x: T) -> Exp<T> {
        lit(x)
    }
}

#[track_caller]
fn unary<T, U>(operator: Operator, a: Exp<T>) -> Exp<U> {
    let at: Loc = Location::caller();
    Exp::new(record::apply(at, operator, &[a.handle()]))
}

#[track_caller]
pub(crate) fn binary<T, U, V>(operator: Operator, a: Exp<T>, b: Exp<U>) -> Exp<V> {
    let at: Loc = Location::caller();
    Exp::new(record::apply(at, operator, &[a.handle(), b.handle()]))
}

#[track_caller]
fn ternary<T>(operator: Operator, a: Exp<T>, b: Exp<T>, c: Exp<T>) -> Exp<T> {
    let at: Loc = Location::caller();
    Exp::new(record::apply(at, operator, &[a.handle(), b.handle(), c.handle()]))
}

#[diagnostic::do_not_recommend]
impl<T: Scalar> OneNumber for Exp<T> {}

#[diagnostic::do_not_recommend]
impl<T: Scalar> BesideExp<T> for Exp<T> {
    fn number(self) -> Exp<T> {
        self
    }
}

macro_rules! constants {
    ($($t:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl OneNumber for $t {}
        #[diagnostic::do_not_recommend]
        impl BesideExp<$t> for $t {
            #[track_caller]
            fn number(self) -> Exp<$t> { lit(self) }
        }
    )*};
}
constants!(f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool);

#[diagnostic::do_not_recommend]
impl OneNumber for f64 {}

#[diagnostic::do_not_recommend]
impl<T: Float> BesideExp<T> for f64 {
    #[track_caller]
    fn number(self) -> Exp<T> {
        lit(T::of(self))
    }
}

/// A constant that may stand before an `Exp<T>`. Rust looks at it first: with two types of constants for one `T` it would not know which
/// `2.0` is, and so not what comes out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand before an `Exp<{T}>`: write the constant behind it, as in `x * 2.0`",
    label = "expected a constant `{T}`",
    note = "where the order matters: `-x + 1.0`, `x.recip() * 2.0`, or `lit(T::of(1.0)) - x`"
)]
#[doc(hidden)]
pub trait BeforeExp<T> {}

#[diagnostic::do_not_recommend]
impl BeforeExp<f64> for f64 {}

/// Rust's infix operators: traced with what may stand beside it, constant with traced, and assignment.
macro_rules! infix {
    ($B:ident; $ts:tt $any:tt; $($Tr:ident $m:ident $TrA:ident $ma:ident $op:ident),*) => {
        $(infix!(@ $B; $ts $any; $Tr $m $TrA $ma $op);)*
    };
    (@ $B:ident; ($($t:ident)*) ($($any:ident $Bound:ident),*); $Tr:ident $m:ident $TrA:ident $ma:ident $op:ident) => {
        impl<T: $B, R: OneNumber + BesideExp<T>> $Tr<R> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $m(self, other: R) -> Exp<T> { binary(Operator::$op, self, other.number()) }
        }
        impl<T: $B, R: BesideExp<T>> $TrA<R> for Exp<T> {
            #[track_caller]
            fn $ma(&mut self, other: R) { *self = binary(Operator::$op, *self, other.number()) }
        }
        $(#[diagnostic::do_not_recommend]
        impl $Tr<Exp<$t>> for $t {
            type Output = Exp<$t>;
            #[track_caller]
            fn $m(self, other: Exp<$t>) -> Exp<$t> { binary(Operator::$op, lit(self), other) }
        })*
        // Bounded afterwards, for the message; see `elementwise.rs`.
        $(impl<T: $B> $Tr<Exp<T>> for $any
        where
            $any: $Bound<T>,
        {
            type Output = Exp<T>;
            #[track_caller]
            fn $m(self, other: Exp<T>) -> Exp<T> { binary(Operator::$op, lit(self), other) }
        })*
    };
}
infix!(Num; (f32 f16 bf16 i8 i16 i64 u8 u16 u32 u64) (i32 BesideExp, f64 BeforeExp);
    Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
    Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem);
infix!(Bits; (i8 i16 i64 u8 u16 u32 u64 bool) (i32 BesideExp);
    BitAnd bitand BitAndAssign bitand_assign And, BitOr bitor BitOrAssign bitor_assign Or,
    BitXor bitxor BitXorAssign bitxor_assign Xor);
infix!(Int; (i8 i16 i64 u8 u16 u32 u64) (i32 BesideExp); Shl shl ShlAssign shl_assign Shl, Shr shr ShrAssign shr_assign Shr);

impl<T: Num> Neg for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn neg(self) -> Exp<T> {
        unary(Operator::Neg, self)
    }
}

impl<T: Bits> Not for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn not(self) -> Exp<T> {
        unary(Operator::Not, self)
    }
}

/// Methods of `Exp<T>` that are one operator of the table. Result: `same` type or a `test`.
macro_rules! methods {
    ($(#[$about:meta])* $B:ident; $($m:ident($($arg:ident)?) -> $kind:ident $op:ident $what:literal;)*) => {
        $(#[$about])*
        impl<T: $B> Exp<T> {$(methods!(@ $what $m ($($arg)?) $kind $op);)*}
    };
    (@ $what:literal $m:ident () same $op:ident) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m(self) -> Exp<T> { unary(Operator::$op, self) }
    };
    (@ $what:literal $m:ident () test $op:ident) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m(self) -> Exp<bool> { unary(Operator::$op, self) }
    };
    (@ $what:literal $m:ident ($arg:ident) same $op:ident) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m(self, $arg: impl BesideExp<T>) -> Exp<T> { binary(Operator::$op, self, $arg.number()) }
    };
    (@ $what:literal $m:ident ($arg:ident) test $op:ident) => {
        #[doc = $what]
        #[track_caller]
        pub fn $m(self, $arg: impl BesideExp<T>) -> Exp<bool> { binary(Operator::$op, self, $arg.number()) }
    };
}
methods! {
    /// Comparisons. They are methods, because Rust's `<` gives a `bool` at once; in a `#[slyz::function]` write `<`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn in_range(x: Exp<f32>) -> Exp<bool> { x.ge(0.0) & x.lt(1.0) & x.ne(0.5) }
    /// assert!(compile(in_range)?.call(0.25)?.value()?);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Scalar;
    lt(other) -> test Lt "`self < other`; false for NaN.";
    le(other) -> test Le "`self <= other`; false for NaN.";
    gt(other) -> test Gt "`self > other`; false for NaN.";
    ge(other) -> test Ge "`self >= other`; false for NaN.";
    eq(other) -> test Eq "`self == other`; false for NaN.";
    ne(other) -> test Ne "`self != other`; true for NaN.";
}
methods! {
    /// Arithmetic that has no infix operator.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn shrink(x: Exp<f32>, by: Exp<f32>) -> Exp<f32> { x.sign() * (x.abs() - by).max(0.0) }
    /// assert_eq!(compile(shrink)?.call(-3.0, 1.0)?.value()?, -2.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Num;
    abs() -> same Abs "The absolute value.";
    sign() -> same Sign "-1, 0 or 1.";
    max(other) -> same Max "The larger of two; a NaN loses. The largest element of an array is `x.max()`.";
    min(other) -> same Min "The smaller of two; a NaN loses. The smallest element of an array is `x.min()`.";
}
bits_of_integers! {
    methods
    /// Bits of integers.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn is_power_of_two(x: Exp<u32>) -> Exp<bool> { x.count_ones().eq(1) }
    /// fn log2(x: Exp<u32>) -> Exp<u32> { 31 - x.leading_zeros() }
    /// assert_eq!(compile(log2)?.call(9)?.value()?, 3);
    /// # Ok::<(), slyz::Error>(())
    /// ```
}
mathematics! {
    methods
    /// Mathematics.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn logistic(x: Exp<f32>) -> Exp<f32> { ((-x).exp() + 1.0).recip() }
    /// fn distance(x: Exp<f64>, y: Exp<f64>) -> Exp<f64> { x.hypot(y).floor() }
    /// assert_eq!(compile(logistic)?.call(0.0)?.value()?, 0.5);
    /// assert_eq!(compile(distance)?.call(3.0, 4.0)?.value()?, 5.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
}

impl<T: Scalar> Exp<T> {
    /// Conversion to another type: floats to integers saturate, integers to narrower ones keep the low bits.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f32>| x.cast::<u8>())?;
    /// assert_eq!(f.call(300.0)?.value()?, 255);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn cast<U: Scalar>(self) -> Exp<U> {
        let at: Loc = Location::caller();
        Exp::new(record::cast(at, U::TY, self.handle()))
    }

    /// The same bits as another type of the same width.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f32>| x.bitcast::<u32>())?;
    /// assert_eq!(f.call(1.0)?.value()?, 0x3f80_0000);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn bitcast<U: Scalar>(self) -> Exp<U> {
        let at: Loc = Location::caller();
        Exp::new(record::bitcast(at, U::TY, self.handle()))
    }
}

impl<T: Num> Exp<T> {
    /// `min(max(self, low), high)`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn unit(x: Exp<f32>) -> Exp<f32> { x.clamp(0.0, 1.0) }
    /// ```
    #[track_caller]
    pub fn clamp(self, low: impl BesideExp<T>, high: impl BesideExp<T>) -> Exp<T> {
        ternary(Operator::Clamp, self, low.number(), high.number())
    }

    /// `self * a + b` with one rounding.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f32>| x.mul_add(2.0, 1.0))?;
    /// assert_eq!(f.call(3.0)?.value()?, 7.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn mul_add(self, a: impl BesideExp<T>, b: impl BesideExp<T>) -> Exp<T> {
        ternary(Operator::Fma, self, a.number(), b.number())
    }
}

impl<T: Float> Exp<T> {
    /// A power with a whole exponent, by squaring: `x.powi(2)` is `x * x`, `x.powi(-2)` is `1 / (x * x)`, with the bits of Rust's `powi`.
    /// Up to 1,024 a constant exponent costs products only.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f32>| x.powi(3))?;
    /// assert_eq!(f.call(2.0)?.value()?, 8.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn powi(self, exponent: impl Lift<i32>) -> Exp<T> {
        binary(Operator::Powi, self, exponent.lift())
    }
}

impl Exp<bool> {
    /// `a` where it holds, else `b`. Both are values, so both are computed; `if` in a `#[slyz::function]` branches.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<i32>| x.lt(0).select((0, -1), (x, 1)).0)?;
    /// assert_eq!(f.call(-7)?.value()?, 0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn select<A>(self, a: A, b: impl Lift<ElemOf<A>>) -> A::Form
    where
        A: Traced + Lift<ElemOf<A>>,
    {
        let at: Loc = Location::caller();
        let yes = handles(a.lift());
        let no = handles(b.lift());
        value_of(&record::select(at, self.handle(), &yes, &no))
    }
}

/// The polynomial with these coefficients, constant first, by Horner's rule with one rounding per step (`mul_add`).
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>| horner(x, [1.0, 2.0, 3.0]))?;
/// assert_eq!(f.call(2.0)?.value()?, 17.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn horner<T: Float, const N: usize>(x: Exp<T>, coefficients: [T; N]) -> Exp<T> {
    let at: Loc = Location::caller();
    crate::trace::on_behalf(at, || {
        let terms = coefficients.into_iter().rev().map(lit);
        terms.reduce(|sum, c| sum.mul_add(x, c)).unwrap_or_else(|| lit(T::ZERO))
    })
}
