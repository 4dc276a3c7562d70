//! Streaming through memory: copies, which say what the memory can do, and saxpy.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use ndarray::{ArrayView1, Zip};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N);

/// Elements of a task.
pub const GRAIN: usize = 1 << 17;

pub static JOBS: &[Job] = &[
    Job {
        name: "copy",
        title: "copy, 2^24",
        target: None,
        run: run_copy,
        source: || Ok(compile(copy)?.source().to_string()),
    },
    Job {
        name: "saxpy",
        title: "saxpy, 2^24",
        target: Some(0.95),
        run: run_saxpy,
        source: || Ok(compile(saxpy)?.source().to_string()),
    },
];

fn copy(x: Arr<f32, N>) -> Arr<f32, N> {
    x.map(|v| v)
}

/// `a x + y`.
pub fn saxpy(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> {
    x * a + y
}

fn run_copy(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let mut contest = Contest::new(bench, job, Expected::near(x.to_vec(), 0.0));
    let f = compile(copy)?;
    contest.ours(move || f.call(x), |z| z.to_vec());
    for (name, kernel) in [("C", "copy"), ("C-nt", "copy_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n, move |z| kernel.run(&[to(z)], &[from(x)], &[n], &[], n, GRAIN));
    }
    contest.fills("rayon", n, |z| {
        z.par_chunks_mut(GRAIN).zip(x.par_chunks(GRAIN)).for_each(|(z, x)| z.copy_from_slice(x));
    });
    let view = ArrayView1::from(x);
    contest.fills("ndarray", n, move |z| ndarray::ArrayViewMut1::from(z).assign(&view));
    #[cfg(feature = "candle")]
    crate::candle::copy(&mut contest, x)?;
    contest.measure()
}

fn run_saxpy(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let (x, y) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let a = 1.5f32;
    let expected = x.iter().zip(y).map(|(x, y)| a * x + y).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-6));
    let f = compile(saxpy)?;
    contest.ours(move || f.call(a, x, y), |z| z.to_vec());
    for (name, kernel) in [("C", "saxpy"), ("C-nt", "saxpy_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n, move |z| kernel.run(&[to(z)], &[from(x), from(y)], &[n], &[a], n, GRAIN));
    }
    contest.fills("rayon", n, |z| {
        z.par_iter_mut().zip(x).zip(y).with_min_len(GRAIN).for_each(|((z, x), y)| *z = a * x + y);
    });
    let (xs, ys) = (ArrayView1::from(x), ArrayView1::from(y));
    contest.fills("ndarray", n, move |z| {
        Zip::from(ndarray::ArrayViewMut1::from(z)).and(xs).and(ys).par_for_each(|z, x, y| *z = a * x + y);
    });
    #[cfg(feature = "candle")]
    crate::candle::saxpy(&mut contest, a, x, y)?;
    contest.measure()
}
