//! Programs whose loops carry arrays, beside plain Rust.

mod dense;
mod fft;
mod grid;
mod small;
mod tables;

use crate::job::Job;

/// All of them.
pub fn jobs() -> impl Iterator<Item = &'static Job> {
    [grid::JOBS, dense::JOBS, tables::JOBS, fft::JOBS, small::JOBS].into_iter().flatten()
}
