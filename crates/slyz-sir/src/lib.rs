//! SIR, the intermediate representation of Słyż, and everything that is done to it.
//!
//! One road: a front end builds a [`program::Program`], the verifier checks it, passes rewrite it, a lowering turns it
//! into [`kernel::Kernel`]s and a [`kernel::Plan`], a backend writes them out. The interpreter gives both levels their meaning.
//!
//! This crate is pure: no I/O, no devices, no `unsafe`. Without the feature `compiler` it is programs alone, their text and their verifier:
//! what the macros need, which are built before anything that uses them.
#![forbid(unsafe_code)]

#[cfg(feature = "compiler")]
pub mod back;
#[cfg(feature = "compiler")]
pub mod build;
#[cfg(feature = "compiler")]
pub mod chain;
pub mod choices;
pub mod code;
#[cfg(feature = "compiler")]
pub mod expand;
#[cfg(feature = "compiler")]
pub mod explain;
mod halves;
pub mod interp;
pub mod kernel;
pub mod launch;
#[cfg(feature = "compiler")]
pub mod lower;
pub mod meaning;
pub mod names;
pub mod nesting;
pub mod ops;
#[cfg(feature = "compiler")]
pub mod pass;
pub mod power;
#[cfg(feature = "compiler")]
pub mod prepare;
pub mod program;
#[cfg(feature = "compiler")]
pub mod quantize;
#[cfg(feature = "compiler")]
pub mod raise;
#[cfg(feature = "compiler")]
mod ranges;
pub mod raw;
#[cfg(feature = "compiler")]
pub mod road;
pub mod size;
mod special;
pub mod text;
pub mod threads;
pub mod types;
pub mod typing;
pub mod verify;
#[cfg(feature = "compiler")]
pub mod views;
pub mod write;
