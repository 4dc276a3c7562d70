//! Why a program is no graph: what has no counterpart, and the nearest road.

use crate::types::Ty;

/// Why a program cannot be a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// The format has no such operation.
    #[error("program `{program}`: {format} has no {what}; {road}")]
    Operation {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
        /// The operation, in words.
        what: String,
        /// What does it.
        road: &'static str,
    },
    /// The format has no such elements.
    #[error(
        "program `{program}`: {format} computes with f32, f16, i32, i64 and bool, not with {ty}; use {instead}, or build for the target c"
    )]
    Type {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
        /// The type.
        ty: Ty,
        /// A type that it has.
        instead: Ty,
    },
    /// No argument tells an extent.
    #[error("program `{program}`: no argument tells the extent {size}; give it with --size {size}=8")]
    Untold {
        /// The program.
        program: String,
        /// The variable.
        size: String,
    },
    /// The operation needs to know how long the axis is.
    #[error(
        "program `{program}`: {what} is as many steps as the axis is long, which {format} has to know; give the extents with --size {size}=8"
    )]
    Open {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
        /// The operation, in words.
        what: &'static str,
        /// A variable.
        size: String,
    },
    /// Too many axes.
    #[error(
        "program `{program}`: {format} has arrays of at most {most} axes, one here has {axes}; make axes into one, or build for the target c"
    )]
    Axes {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
        /// What is wanted.
        axes: usize,
        /// What there is.
        most: usize,
    },
    /// An array without elements.
    #[error(
        "program `{program}`: {format} has no arrays without elements; give extents of 1 and more, or build for the target c"
    )]
    Empty {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
    },
    /// Whole numbers that are too large in one call.
    #[error(
        "program `{program}`: whole numbers of up to {most} may come up in this call, and {format} has 32 bits for them, 24 where they are \
         compared or summed; pass smaller ones, or compute with floats"
    )]
    Wide {
        /// The program.
        program: String,
        /// The format.
        format: &'static str,
        /// The largest, without its sign.
        most: i128,
    },
    /// A kernel by hand.
    #[error(
        "kernel `{kernel}` is written by hand, and {format} takes array programs only: {why}. Write it as a function over arrays, or build for the \
         target c, cuda or opencl"
    )]
    Kernel {
        /// The kernel.
        kernel: String,
        /// The format.
        format: &'static str,
        /// What it is that keeps it from being one.
        why: String,
    },
    /// A size that is given is not the program's.
    #[error("there is no size `{size}` to give; there is: {known}")]
    NoSize {
        /// What was given.
        size: String,
        /// What there is.
        known: String,
    },
}
