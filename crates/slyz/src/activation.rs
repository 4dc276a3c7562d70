//! What neurons do, composed of operators: precise where their formulas of school overflow or cancel.

use crate::arr::Arr;
use crate::elem::{Exp, Float};
use crate::shape::Shape;

/// The same methods for elements and for arrays.
macro_rules! activations {
    ($(#[$about:meta])* [$($param:tt)*] $of:ty) => {
        $(#[$about])*
        impl<T: Float, $($param)*> $of {
            /// `1 / (1 + e^-x)`.
            #[track_caller]
            pub fn sigmoid(self) -> Self {
                let e = (-self.abs()).exp();
                self.lt(T::of(0.0)).select(e, T::of(1.0)) / (e + T::of(1.0))
            }

            /// `ln(1 + e^x)`.
            #[track_caller]
            pub fn softplus(self) -> Self {
                self.gt(T::of(0.0)).select(self, T::of(0.0)) + (-self.abs()).exp().ln_1p()
            }

            /// `ln(1 / (1 + e^-x))`.
            #[track_caller]
            pub fn log_sigmoid(self) -> Self {
                self.lt(T::of(0.0)).select(self, T::of(0.0)) - (-self.abs()).exp().ln_1p()
            }

            /// `x` times the share of normally distributed numbers below it.
            #[track_caller]
            pub fn gelu(self) -> Self {
                // The share is 0 from there on, which an infinity must not be multiplied by.
                let bounded = self.gt(T::of(-64.0)).select(self, T::of(-64.0));
                bounded * T::of(0.5) * (self * T::of(-std::f64::consts::FRAC_1_SQRT_2)).erfc()
            }

            /// The same by a formula that is cheaper and off by up to 0.0005 (and NaN at −∞): `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))`. Networks that
            /// were trained with it want this one. cuBLASLt makes it together with a product of matrices.
            #[track_caller]
            pub fn gelu_tanh(self) -> Self {
                let cube = self * self * self;
                let inner = (self + cube * T::of(0.044715)) * T::of(std::f64::consts::FRAC_2_PI.sqrt());
                self * T::of(0.5) * (inner.tanh() + T::of(1.0))
            }
        }
    };
}

activations! {
    /// Activations.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f64>| (x.sigmoid(), x.softplus(), x.log_sigmoid(), x.gelu()))?;
    /// let (sigmoid, softplus, log_sigmoid, gelu) = f.call(-800.0)?;
    /// assert_eq!((sigmoid.value()?, softplus.value()?, log_sigmoid.value()?), (0.0, 0.0, -800.0));
    /// assert_eq!((f.call(0.0)?.0.value()?, gelu.value()?), (0.5, 0.0));
    /// assert_eq!(f.call(f64::NEG_INFINITY)?.3.value()?, 0.0);
    /// let near = compile(|x: Exp<f64>| (x.gelu() - x.gelu_tanh()).abs())?;
    /// assert!(near.call(1.5)?.value()? < 5e-4);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    [] Exp<T>
}
activations! {
    /// Activations, element by element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.sigmoid())?;
    /// assert_eq!(f.call(&[0.0f32, 100.0])?.to_vec()?, [0.5, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    [S: Shape] Arr<T, S>
}
