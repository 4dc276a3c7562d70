//! `graph fn`: the language of explicit kernels.
//!
//! ```text
//! .vex text ── parse ──┐
//!                      ├─ syntax tree ── check ──> typed tree ── lower ──> SIR kernels (templates of launches)
//! #[graph] fn (Rust) ──┘
//! ```
//!
//! Both front ends make the same surface tree ([`syntax`]), so that one checker and one lowering serve both. The host part of a `.vex`
//! file is run by `host`, over whatever device is handed to it. This crate does no I/O.
//! Without features it is what `#[graph]` needs: the checker and the lowering. `text` reads `.vex` files, `vex` runs their host part.
#![forbid(unsafe_code)]

pub mod check;
pub mod diagnostic;
#[cfg(feature = "vex")]
pub mod host;
pub mod kernels;
#[cfg(feature = "text")]
mod lex;
pub mod lower;
#[cfg(feature = "text")]
pub mod parse;
mod races;
#[cfg(feature = "text")]
pub mod render;
pub mod span;
pub mod stores;
pub mod syntax;
pub mod typed;
