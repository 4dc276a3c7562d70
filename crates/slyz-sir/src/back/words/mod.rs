//! Where numbers of 32 bits are enough: which `i64`s of a kernel fit them, and whether a program does without wider ones.

#[cfg(feature = "naga")]
mod fit;
#[cfg(feature = "naga")]
mod narrow;
mod short;
mod small;

#[cfg(feature = "naga")]
pub use fit::{check_narrow, check_narrow_kernel};
#[cfg(feature = "naga")]
pub(super) use narrow::Narrowing;
pub use short::shorten;
pub(super) use small::wide_in_kernel;
pub use small::wide_in_program;
