//! The transposition of a matrix: memory, in an order it does not like.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use ndarray::ArrayView2;
use rayon::prelude::*;
use slyz::prelude::*;

axis!(R, C);

pub static JOBS: &[Job] = &[Job {
    name: "transpose",
    title: "transpose, 4096²",
    target: Some(0.9),
    run,
    source: || Ok(compile(transpose)?.source().to_string()),
}];

fn transpose(x: Arr<f32, (R, C)>) -> Arr<f32, (C, R)> {
    x.transpose()
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let expected = (0..n * n).map(|p| x[p % n * n + p / n]).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(transpose)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    for (name, kernel, grain) in [("C", "transpose", 1), ("C-nt", "transpose_nt", 4)] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n * n, move |z| kernel.run(&[to(z)], &[from(x)], &[n, n], &[], n / 64, grain));
    }
    contest.fills("rayon", n * n, move |z| {
        const TILE: usize = 32;
        z.par_chunks_mut(TILE * n).enumerate().for_each(|(k, z)| {
            for i0 in (0..n).step_by(TILE) {
                for (j, z) in z.chunks_mut(n).enumerate() {
                    z[i0..i0 + TILE].iter_mut().enumerate().for_each(|(i, z)| *z = x[(i0 + i) * n + k * TILE + j]);
                }
            }
        });
    });
    let view = ArrayView2::from_shape((n, n), x)?;
    contest.fills("ndarray", n * n, move |z| {
        if let Ok(mut z) = ndarray::ArrayViewMut2::from_shape((n, n), z) {
            z.assign(&view.t());
        }
    });
    #[cfg(feature = "candle")]
    crate::candle::transpose(&mut contest, x, n)?;
    contest.measure()
}
