//! Complex numbers, as elements of arrays and in traced code.
//!
//! `Complex<f32>` is on the host what `Complex<Exp<f32>>` is in a function being traced, as for any struct with `#[derive(Elem)]`. An
//! array of them is stored as two, of real and of imaginary parts.

use crate::arr::{Arr, tabulate_at};
use crate::elem::{Exp, Float, Lift, lit};
use crate::shape::{Align, Pos, Shape};
use crate::trace::{Loc, on_behalf};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;

/// A complex number.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|z: Arr<Complex<f32>, N>, w: Complex<Exp<f32>>| (z * w + 1.0).map(|z| z.norm_sqr()))?;
/// assert_eq!(f.call(&[Complex::new(1.0f32, 2.0)], Complex::new(0.0, 1.0))?.to_vec()?, [2.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, slyz_macros::Elem)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// The number with these parts.
    ///
    /// ```
    /// use slyz::Complex;
    /// assert_eq!(Complex::new(1.0, 2.0).im, 2.0);
    /// ```
    pub const fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}

#[cfg(feature = "num-complex")]
impl<T> From<num_complex::Complex<T>> for Complex<T> {
    fn from(z: num_complex::Complex<T>) -> Complex<T> {
        Complex { re: z.re, im: z.im }
    }
}

#[cfg(feature = "num-complex")]
impl<T> From<Complex<T>> for num_complex::Complex<T> {
    fn from(z: Complex<T>) -> num_complex::Complex<T> {
        num_complex::Complex { re: z.re, im: z.im }
    }
}

impl<T: Float> From<Exp<T>> for Complex<Exp<T>> {
    #[track_caller]
    fn from(re: Exp<T>) -> Self {
        Complex { re, im: lit(T::ZERO) }
    }
}

impl<T: Float> Complex<Exp<T>> {
    /// The number of that length and angle, in radians.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|angle: Exp<f64>| Complex::from_polar(2.0, angle))?;
    /// assert_eq!(f.call(0.0)?.value()?, Complex::new(2.0, 0.0));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn from_polar(length: impl Lift<T>, angle: impl Lift<T>) -> Self {
        let length = length.lift();
        let angle = angle.lift();
        Complex { re: length * angle.cos(), im: length * angle.sin() }
    }

    /// The length: the root of `re² + im²`, without early overflow.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|z: Complex<Exp<f32>>| z.abs())?;
    /// assert_eq!(f.call(Complex::new(3.0, 4.0))?.value()?, 5.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn abs(self) -> Exp<T> {
        self.re.hypot(self.im)
    }

    /// The angle, in radians.
    #[track_caller]
    pub fn arg(self) -> Exp<T> {
        self.im.atan2(self.re)
    }

    /// The square of the length.
    #[track_caller]
    pub fn norm_sqr(self) -> Exp<T> {
        self.re * self.re + self.im * self.im
    }

    /// The number on the other side of the real axis.
    #[track_caller]
    pub fn conj(self) -> Self {
        Complex { re: self.re, im: -self.im }
    }

    /// e to the power.
    #[track_caller]
    pub fn exp(self) -> Self {
        Complex::from_polar(self.re.exp(), self.im)
    }

    /// The natural logarithm whose angle is between -π and π.
    #[track_caller]
    pub fn ln(self) -> Self {
        Complex { re: self.abs().ln(), im: self.arg() }
    }

    /// The root whose real part is not negative. Nothing is subtracted, so nothing cancels.
    #[track_caller]
    pub fn sqrt(self) -> Self {
        let large = ((self.abs() + self.re.abs()) * 0.5).sqrt();
        let small = large.eq(0.0).select(large, self.im.abs() / (large * 2.0));
        let right = self.re.ge(0.0);
        let height = right.select(small, large);
        Complex { re: right.select(large, small), im: self.im.lt(0.0).select(-height, height) }
    }

    /// A real power: of the length, and as many times the angle.
    #[track_caller]
    pub fn powf(self, exponent: impl Lift<T>) -> Self {
        let exponent = exponent.lift();
        Complex::from_polar(self.abs().powf(exponent), self.arg() * exponent)
    }

    /// `1 / self`.
    #[track_caller]
    pub fn recip(self) -> Self {
        let square = self.norm_sqr();
        Complex { re: self.re / square, im: -self.im / square }
    }
}

/// What may stand beside a `Complex<Exp<T>>`: another one, an `Exp<T>`, or a constant of either kind.
///
/// ```
/// use slyz::prelude::*;
/// fn next(z: Complex<Exp<f32>>, c: Complex<Exp<f32>>) -> Complex<Exp<f32>> { z * z * 0.5 + c }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside a complex number of `{T}`",
    label = "expected a `Complex` of `{T}`, an `Exp<{T}>` or a constant `{T}`"
)]
pub trait BesideComplex<T: Float> {
    #[doc(hidden)]
    fn complex(self, at: Loc) -> Complex<Exp<T>>;
}

#[diagnostic::do_not_recommend]
impl<T: Float, V: Lift<T>> BesideComplex<T> for Complex<V> {
    fn complex(self, at: Loc) -> Complex<Exp<T>> {
        on_behalf(at, || Complex { re: self.re.lift(), im: self.im.lift() })
    }
}

#[diagnostic::do_not_recommend]
impl<T: Float> BesideComplex<T> for Exp<T> {
    fn complex(self, at: Loc) -> Complex<Exp<T>> {
        on_behalf(at, || Complex::from(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Float> BesideComplex<T> for T {
    fn complex(self, at: Loc) -> Complex<Exp<T>> {
        on_behalf(at, || Complex::from(lit(self)))
    }
}

/// The operations with an operator of Rust's.
#[derive(Clone, Copy)]
enum Four {
    Add,
    Sub,
    Mul,
    Div,
}

/// One of them, for the caller at `at`. What is 0 in a real number beside a complex one is left to the compiler.
fn apply<T: Float>(at: Loc, operator: Four, a: Complex<Exp<T>>, b: Complex<Exp<T>>) -> Complex<Exp<T>> {
    on_behalf(at, || match operator {
        Four::Add => Complex { re: a.re + b.re, im: a.im + b.im },
        Four::Sub => Complex { re: a.re - b.re, im: a.im - b.im },
        Four::Mul => Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re },
        Four::Div => {
            let square = b.norm_sqr();
            let product = apply(at, Four::Mul, a, b.conj());
            Complex { re: product.re / square, im: product.im / square }
        }
    })
}

/// What may stand beside an array of complex numbers, element by element: an array of them or of real numbers whose shape aligns, or
/// what may stand beside one of them.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// fn filtered(x: Arr<Complex<f32>, (N, M)>, gain: Arr<f32, M>) -> Arr<Complex<f32>, (N, M)> { x * gain / 2.0 }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside an array of complex numbers of `{T}`",
    label = "expected an array of `Complex<{T}>` or `{T}` whose shape aligns, or one such number"
)]
pub trait BesideComplexes<T: Float, S: Shape> {
    /// The shape of the result: the longer one.
    type Out: Shape;

    #[doc(hidden)]
    fn both(self, at: Loc, array: Arr<Complex<T>, S>, p: Pos<Self::Out>) -> [Complex<Exp<T>>; 2];
}

impl<T: Float, S: Align<R>, R: Shape> BesideComplexes<T, S> for Arr<Complex<T>, R> {
    type Out = S::Out;
    fn both(self, at: Loc, array: Arr<Complex<T>, S>, p: Pos<S::Out>) -> [Complex<Exp<T>>; 2] {
        [array.element(at, S::left(p)), self.element(at, S::right(p))]
    }
}

#[diagnostic::do_not_recommend]
impl<T: Float, S: Align<R>, R: Shape> BesideComplexes<T, S> for Arr<T, R> {
    type Out = S::Out;
    fn both(self, at: Loc, array: Arr<Complex<T>, S>, p: Pos<S::Out>) -> [Complex<Exp<T>>; 2] {
        [array.element(at, S::left(p)), self.element(at, S::right(p)).complex(at)]
    }
}

/// One number, the same everywhere. Not for all that may stand beside a number at once: rustc would hold arrays to be among them.
macro_rules! everywhere {
    ($([$($V:ident: $B:path)?] $One:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Float, S: Shape, $($V: $B)?> BesideComplexes<T, S> for $One {
            type Out = S;
            fn both(self, at: Loc, array: Arr<Complex<T>, S>, p: Pos<S>) -> [Complex<Exp<T>>; 2] {
                [array.element(at, p), BesideComplex::<T>::complex(self, at)]
            }
        }
    )*};
}
everywhere! {
    [V: Lift<T>] Complex<V>;
    [] Exp<T>;
    [] T;
}

/// One operation at each position.
fn each<T: Float, S: Shape, R>(at: Loc, operator: Four, a: Arr<Complex<T>, S>, b: R) -> Arr<Complex<T>, R::Out>
where
    R: BesideComplexes<T, S> + Copy,
{
    tabulate_at(at, |p: Pos<R::Out>| {
        let [a, b] = b.both(at, a, p);
        apply(at, operator, a, b)
    })
}

/// The other way round: what stands before an array.
fn each_after<T: Float, S: Shape>(
    at: Loc,
    operator: Four,
    a: Complex<Exp<T>>,
    b: Arr<Complex<T>, S>,
) -> Arr<Complex<T>, S> {
    tabulate_at(at, |p: Pos<S>| apply(at, operator, a, b.element(at, p)))
}

macro_rules! infix {
    ($($Tr:ident $m:ident),*) => {$(
        impl<T: Float, R: BesideComplex<T>> $Tr<R> for Complex<Exp<T>> {
            type Output = Complex<Exp<T>>;
            #[track_caller]
            fn $m(self, other: R) -> Complex<Exp<T>> {
                let at: Loc = Location::caller();
                apply(at, Four::$Tr, self, other.complex(at))
            }
        }
        impl<T: Float, S: Shape, R: BesideComplexes<T, S> + Copy> $Tr<R> for Arr<Complex<T>, S> {
            type Output = Arr<Complex<T>, R::Out>;
            #[track_caller]
            fn $m(self, other: R) -> Arr<Complex<T>, R::Out> {
                each(Location::caller(), Four::$Tr, self, other)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: Float> $Tr<Complex<Exp<T>>> for Exp<T> {
            type Output = Complex<Exp<T>>;
            #[track_caller]
            fn $m(self, other: Complex<Exp<T>>) -> Complex<Exp<T>> {
                let at: Loc = Location::caller();
                apply(at, Four::$Tr, self.complex(at), other)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: Float, S: Shape> $Tr<Arr<Complex<T>, S>> for Exp<T> {
            type Output = Arr<Complex<T>, S>;
            #[track_caller]
            fn $m(self, other: Arr<Complex<T>, S>) -> Arr<Complex<T>, S> {
                let at: Loc = Location::caller();
                each_after(at, Four::$Tr, self.complex(at), other)
            }
        }
        infix!(@ $Tr $m f32 f64);
    )*};
    (@ $Tr:ident $m:ident $($t:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl $Tr<Complex<Exp<$t>>> for $t {
            type Output = Complex<Exp<$t>>;
            #[track_caller]
            fn $m(self, other: Complex<Exp<$t>>) -> Complex<Exp<$t>> {
                let at: Loc = Location::caller();
                apply(at, Four::$Tr, BesideComplex::<$t>::complex(self, at), other)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<S: Shape> $Tr<Arr<Complex<$t>, S>> for $t {
            type Output = Arr<Complex<$t>, S>;
            #[track_caller]
            fn $m(self, other: Arr<Complex<$t>, S>) -> Arr<Complex<$t>, S> {
                let at: Loc = Location::caller();
                each_after(at, Four::$Tr, BesideComplex::<$t>::complex(self, at), other)
            }
        }
    )*};
}
infix!(Add add, Sub sub, Mul mul, Div div);

impl<T: Float> Neg for Complex<Exp<T>> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        Complex { re: -self.re, im: -self.im }
    }
}

/// Methods of one complex number on arrays of them.
macro_rules! methods {
    ($($m:ident -> $T:ty, $what:literal;)*) => {
        /// Complex numbers, element by element; what each method means is said at [`Complex`].
        ///
        /// ```
        /// use slyz::prelude::*;
        /// axis!(N);
        /// let f = compile(|z: Arr<Complex<f32>, N>| z.conj().abs())?;
        /// assert_eq!(f.call(&[Complex::new(3.0f32, 4.0)])?.to_vec()?, [5.0]);
        /// # Ok::<(), slyz::Error>(())
        /// ```
        impl<T: Float, S: Shape> Arr<Complex<T>, S> {$(
            #[doc = $what]
            #[track_caller]
            pub fn $m(self) -> Arr<$T, S> {
                let at: Loc = Location::caller();
                tabulate_at(at, |p: Pos<S>| on_behalf(at, || self.element(at, p).$m()))
            }
        )*}
    };
}
methods! {
    abs -> T, "The length of each.";
    arg -> T, "The angle of each, in radians.";
    norm_sqr -> T, "The square of the length of each.";
    conj -> Complex<T>, "Each on the other side of the real axis.";
    exp -> Complex<T>, "e to the power of each.";
    ln -> Complex<T>, "The natural logarithm of each.";
    sqrt -> Complex<T>, "The root of each whose real part is not negative.";
}

impl<T: Float, S: Shape> Neg for Arr<Complex<T>, S> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        let at: Loc = Location::caller();
        tabulate_at(at, |p: Pos<S>| on_behalf(at, || -self.element(at, p)))
    }
}
