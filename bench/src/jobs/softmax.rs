//! Softmax over the rows of a matrix: two folds and a map, while the row is in the first cache.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use ndarray::{ArrayView2, Zip};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(R, C);

pub static JOBS: &[Job] = &[Job {
    name: "softmax",
    title: "softmax of rows, 4096²",
    target: Some(0.9),
    run,
    source: || Ok(compile(softmax)?.source().to_string()),
}];

fn softmax(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

/// One row in plain Rust.
fn row(z: &mut [f32], x: &[f32]) {
    let top = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    z.iter_mut().zip(x).for_each(|(z, x)| *z = (x - top).exp());
    let scale = 1.0 / z.iter().sum::<f32>();
    z.iter_mut().for_each(|z| *z *= scale);
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let x = &Slab::random(&bench.native, n * n, -10.0, 10.0, 1)[..];
    let mut expected = vec![0f32; n * n];
    expected.chunks_mut(n).zip(x.chunks(n)).for_each(|(z, x)| row(z, x));
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4));
    let f = compile(softmax)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    for (name, kernel) in [("C", "softmax"), ("C-nt", "softmax_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n * n, move |z| kernel.run(&[to(z)], &[from(x)], &[n, n], &[], n, 16));
    }
    contest.fills("rayon", n * n, move |z| {
        z.par_chunks_mut(n).zip(x.par_chunks(n)).for_each(|(z, x)| row(z, x));
    });
    let view = ArrayView2::from_shape((n, n), x)?;
    contest.fills("ndarray", n * n, move |z| {
        let Ok(mut z) = ndarray::ArrayViewMut2::from_shape((n, n), z) else { return };
        Zip::from(z.rows_mut()).and(view.rows()).par_for_each(|mut z, x| {
            let top = x.fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            z.zip_mut_with(&x, |z, x| *z = (x - top).exp());
            let scale = 1.0 / z.sum();
            z *= scale;
        });
    });
    #[cfg(feature = "candle")]
    crate::candle::softmax(&mut contest, x, n)?;
    contest.measure()
}
