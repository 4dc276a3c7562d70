//! SIR, the intermediate representation of Słyż, and everything that is done to it.
//!
//! One road: a front end builds a [`program::Program`], the verifier checks it, passes rewrite it, a lowering turns it
//! into [`kernel::Kernel`]s and a [`kernel::Plan`], a backend writes them out. The interpreter gives both levels their meaning.
//!
//! This crate is pure: no I/O, no devices, no `unsafe`.
#![forbid(unsafe_code)]

pub mod back;
pub mod build;
pub mod code;
pub mod expand;
pub mod explain;
mod halves;
pub mod interp;
pub mod kernel;
pub mod launch;
pub mod lower;
pub mod nesting;
pub mod ops;
pub mod pass;
pub mod power;
pub mod program;
mod range;
pub mod road;
pub mod size;
pub mod text;
pub mod types;
pub mod typing;
pub mod verify;
pub mod write;
