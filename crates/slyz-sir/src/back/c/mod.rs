//! The C backend.

pub mod prelude;
