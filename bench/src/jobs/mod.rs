//! The jobs, in the order of the table.

pub mod black_scholes;
mod blocks;
mod call;
mod filter;
pub mod graph;
mod heat;
mod histogram;
pub mod mandelbrot;
mod matmul;
pub mod nbody;
mod reduce;
mod scan;
mod short;
mod softmax;
mod sort;
mod stream;
mod suites;
mod transpose;
mod turns;
mod words;

use crate::job::Job;

pub use black_scholes::{
    N as OptionNumber, black_scholes, in_c as black_scholes_in_c, options, price as black_scholes_price,
};
pub use reduce::chunked_sum;
pub use stream::{GRAIN, saxpy};

/// Rayon with as few elements in a task as streaming is worth.
pub const CHUNK: usize = 1 << 14;

/// Every job.
pub fn all() -> impl Iterator<Item = &'static Job> {
    let families = [
        stream::JOBS,
        reduce::JOBS,
        black_scholes::JOBS,
        softmax::JOBS,
        transpose::JOBS,
        heat::JOBS,
        mandelbrot::JOBS,
        nbody::JOBS,
        scan::JOBS,
        filter::JOBS,
        sort::JOBS,
        histogram::JOBS,
        short::JOBS,
        matmul::JOBS,
        words::JOBS,
        suites::JOBS,
        graph::JOBS,
        blocks::JOBS,
        call::JOBS,
    ];
    families.into_iter().flatten().chain(turns::jobs())
}

/// The job of that name.
pub fn find(name: &str) -> Option<&'static Job> {
    all().find(|job| job.name == name)
}
