//! What may be passed to a kernel whose parameters are known only while the program runs.

use super::argument::{InOut, Input, Reading, Writing};
use crate::elem::Scalar;
use crate::tensor::Tensor;
use slyz_sir::types::{Scalar as Constant, Ty};

/// An argument for a [`LoadedKernel`](super::LoadedKernel): what [`Given`] makes of it, and nothing to use on its own.
pub enum Passed<'a> {
    /// A number or `bool`.
    Scalar(Constant),
    /// A tensor that is read.
    Read(Reading<'a>),
    /// A tensor that is written.
    Write(Writing<'a>),
}

/// What may be passed to a [`LoadedKernel`](super::LoadedKernel).
///
/// | argument | for |
/// |---|---|
/// | `2.0f32`, `n as i32`, `true` | a number or `bool` |
/// | `&Tensor<T, S>`, `&Vec<T>`, `&[T]`, `&[T; N]` | a tensor that is read |
/// | `(&data, [n, m])`, `&[[T; M]; N]`, `&Vec<[T; M]>` | the same, of several axes |
/// | the last two with `&mut` | a tensor that is written |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "wrong argument",
    note = "pass a number, `&Tensor<T>`, `&Vec<T>`, `&[T]`, `(&data, [rows, columns])`, or one of the last four with `&mut`"
)]
pub trait Given<'a> {
    #[doc(hidden)]
    fn given(self) -> Passed<'a>;
}

impl<'a, T: Scalar> Given<'a> for T {
    fn given(self) -> Passed<'a> {
        Passed::Scalar(self.scalar())
    }
}

/// Those that [`Input`] and [`InOut`] take, by type.
macro_rules! tensors {
    ($([$($generic:tt)*] $rank:literal $Data:ty;)*) => {$(
        impl<'a, T: Scalar, $($generic)*> Given<'a> for &'a $Data {
            fn given(self) -> Passed<'a> { Passed::Read(Input::<T, $rank>::input(self)) }
        }
        impl<'a, T: Scalar, $($generic)*> Given<'a> for &'a mut $Data {
            fn given(self) -> Passed<'a> { Passed::Write(InOut::<T, $rank>::in_out(self)) }
        }
    )*};
    (shaped: $([$($generic:tt)*] $Data:ty;)*) => {$(
        impl<'a, T: Scalar, $($generic)* const K: usize> Given<'a> for (&'a $Data, [usize; K]) {
            fn given(self) -> Passed<'a> { Passed::Read(Input::<T, 1>::input(self)) }
        }
        impl<'a, T: Scalar, $($generic)* const K: usize> Given<'a> for (&'a mut $Data, [usize; K]) {
            fn given(self) -> Passed<'a> { Passed::Write(InOut::<T, 1>::in_out(self)) }
        }
    )*};
}
tensors! {
    [S] 1 Tensor<T, S>;
    [] 1 [T];
    [] 1 Vec<T>;
    [const N: usize] 1 [T; N];
    [const M: usize] 2 [[T; M]];
    [const M: usize] 2 Vec<[T; M]>;
    [const M: usize, const N: usize] 2 [[T; M]; N];
}
tensors! {
    shaped:
    [] [T];
    [] Vec<T>;
    [const N: usize,] [T; N];
}

impl Passed<'_> {
    /// The type and the number of axes of a tensor.
    pub(super) fn elements(&self) -> Option<(Ty, usize)> {
        match self {
            Passed::Scalar(_) => None,
            Passed::Read(reading) => Some(reading.elements()),
            Passed::Write(writing) => Some(writing.elements()),
        }
    }
}
