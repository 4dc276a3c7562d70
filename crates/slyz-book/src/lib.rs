//! The code of the book, compiled and run: each chapter under `docs/src` is the documentation of a module here, so its
//! code blocks are doctests.
//!
//! There is nothing to use in this crate. That the chapters are all listed, and that the listings in them are what the
//! compilers print, is checked in `tests/listings.rs`.

/// One module per chapter, with the chapter as its documentation.
macro_rules! chapters {
    ($($name:ident)*) => {$(
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../../../docs/src/", stringify!($name), ".md"))]
        pub mod $name {}
    )*};
}
chapters!(introduction tour idea axes folds scans loops words functions elements views kernels raw compiles devices tensors precision quantize metal browser models bundles errors coming);

/// The README's program.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub mod readme {}
