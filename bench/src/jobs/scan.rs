//! Inclusive prefix sums.

use super::CHUNK;
use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use ndarray::{ArrayView1, Axis as Along};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N);

pub static JOBS: &[Job] = &[Job {
    name: "scan",
    title: "inclusive scan, 2^24",
    target: None,
    run,
    source: || Ok(compile(scan)?.source().to_string()),
}];

fn scan(x: Arr<f32, N>) -> Arr<f32, N> {
    x.scan(Sum)
}

/// Sums of what is before each chunk, from the sums of the chunks.
fn before(sums: &mut [f32]) {
    let mut total = 0f64;
    for sum in sums {
        (*sum, total) = (total as f32, total + f64::from(*sum));
    }
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let mut total = 0f64;
    let mut prefix = |x: &f32| {
        total += f64::from(*x);
        total as f32
    };
    let expected = x.iter().map(&mut prefix).collect();
    // Sequential sums in f32, as ndarray makes them, drift.
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3));
    let f = compile(scan)?;
    contest.ours(move || f.call(x), |z| z.to_vec());
    let chunks = n.div_ceil(CHUNK);
    for (name, kernel) in [("C", "scan"), ("C-nt", "scan_nt")] {
        let (sum, kernel) = (bench.native.kernel("sum")?, bench.native.kernel(kernel)?);
        let mut sums = vec![0f32; chunks];
        contest.fills(name, n, move |z| {
            sum.run(&[to(&mut sums)], &[from(x)], &[n, CHUNK], &[], chunks, 8);
            before(&mut sums);
            kernel.run(&[to(z)], &[from(x), from(&sums)], &[n, CHUNK], &[], chunks, 8);
        });
    }
    let mut sums = vec![0f32; chunks];
    contest.fills("rayon", n, move |z| {
        sums.par_iter_mut().zip(x.par_chunks(CHUNK)).for_each(|(sum, x)| *sum = x.iter().sum());
        before(&mut sums);
        z.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).zip(&sums).for_each(|((z, x), &start)| {
            let mut sum = start;
            z.iter_mut().zip(x).for_each(|(z, x)| {
                sum += x;
                *z = sum;
            });
        });
    });
    let view = ArrayView1::from(x);
    contest.fills("ndarray", n, move |z| {
        let mut z = ndarray::ArrayViewMut1::from(z);
        z.assign(&view);
        z.accumulate_axis_inplace(Along(0), |&before, z| *z += before);
    });
    contest.measure()
}
