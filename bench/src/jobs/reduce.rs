//! Folds: the sum of a vector, the dot product, sums of rows and of columns.

use super::CHUNK;
use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{Kernel, from, to};
use ndarray::{ArrayView1, ArrayView2, Axis as Along, Zip};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N, M);

pub static JOBS: &[Job] = &[
    Job {
        name: "sum",
        title: "sum, 2^24",
        target: Some(0.95),
        run: run_sum,
        source: || Ok(compile(|x: Arr<f32, N>| x.sum())?.source().to_string()),
    },
    Job {
        name: "dot",
        title: "dot, 2^24",
        target: Some(0.95),
        run: run_dot,
        source: || Ok(compile(dot)?.source().to_string()),
    },
    Job {
        name: "row_sums",
        title: "row sums, 4096²",
        target: Some(0.95),
        run: run_row_sums,
        source: || Ok(compile(|x: Arr<f32, (N, M)>| x.axis::<1>().sum())?.source().to_string()),
    },
    Job {
        name: "column_sums",
        title: "column sums, 4096²",
        target: Some(0.95),
        run: run_column_sums,
        source: || Ok(compile(|x: Arr<f32, (N, M)>| x.axis::<0>().sum())?.source().to_string()),
    },
];

fn dot(x: Arr<f32, N>, y: Arr<f32, N>) -> Exp<f32> {
    sum(|i| x.at(i) * y.at(i))
}

/// A sum in C: partial sums of chunks on all threads, and then their sum.
pub fn chunked_sum<'a>(kernel: Kernel, inputs: Vec<&'a [f32]>, n: usize) -> impl FnMut() -> f32 + 'a {
    let mut parts = vec![0f32; n.div_ceil(CHUNK)];
    move || {
        let units = parts.len();
        let input: Vec<_> = inputs.iter().map(|x| from(x)).collect();
        kernel.run(&[to(&mut parts)], &input, &[n, CHUNK], &[], units, 8);
        parts.iter().map(|&part| f64::from(part)).sum::<f64>() as f32
    }
}

fn run_sum(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let expected = x.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
    let mut contest = Contest::new(bench, job, Expected::near(vec![expected], 1e-5));
    let f = compile(|x: Arr<f32, N>| x.sum())?;
    contest.ours(move || f.call(x), |s| Ok(vec![s.value()?]));
    contest.gives("C", chunked_sum(bench.native.kernel("sum")?, vec![x], n));
    contest.gives("rayon", || x.par_chunks(CHUNK).map(in_lanes).sum());
    let view = ArrayView1::from(x);
    contest.gives("ndarray", move || view.sum());
    #[cfg(feature = "candle")]
    crate::candle::sum(&mut contest, x)?;
    contest.measure()
}

/// A sum that rustc makes vectors of.
fn in_lanes(x: &[f32]) -> f32 {
    let mut lanes = [0f32; 64];
    let (whole, rest) = x.as_chunks::<64>();
    for chunk in whole {
        lanes.iter_mut().zip(chunk).for_each(|(a, x)| *a += x);
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

fn run_dot(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let (x, y) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let expected = x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>() as f32;
    // One order of additions is as right as another, and ndarray's drifts by 1e-3.
    let mut contest = Contest::new(bench, job, Expected::near(vec![expected], 2e-3));
    let f = compile(dot)?;
    contest.ours(move || f.call(x, y), |s| Ok(vec![s.value()?]));
    contest.gives("C", chunked_sum(bench.native.kernel("dot")?, vec![x, y], n));
    contest.gives("rayon", || {
        let products = |(x, y): (&[f32], &[f32])| {
            let mut lanes = [0f32; 64];
            let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<64>(), y.as_chunks::<64>());
            for (x, y) in xs.iter().zip(ys) {
                (0..64).for_each(|k| lanes[k] += x[k] * y[k]);
            }
            lanes.iter().sum::<f32>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f32>()
        };
        x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK)).map(products).sum()
    });
    let (xs, ys) = (ArrayView1::from(x), ArrayView1::from(y));
    contest.gives("ndarray", move || xs.dot(&ys));
    #[cfg(feature = "candle")]
    crate::candle::dot(&mut contest, x, y)?;
    contest.measure()
}

fn run_row_sums(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let row = |row: &[f32]| row.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
    let mut contest = Contest::new(bench, job, Expected::near(x.chunks(n).map(row).collect(), 1e-5));
    let f = compile(|x: Arr<f32, (N, M)>| x.axis::<1>().sum())?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    let kernel = bench.native.kernel("row_sums")?;
    contest.fills("C", n, move |z| kernel.run(&[to(z)], &[from(x)], &[n, n], &[], n, 32));
    contest.fills("rayon", n, |z| z.par_iter_mut().zip(x.par_chunks(n)).for_each(|(z, x)| *z = in_lanes(x)));
    let view = ArrayView2::from_shape((n, n), x)?;
    contest.fills("ndarray", n, move |z| {
        Zip::from(ndarray::ArrayViewMut1::from(z)).and(view.rows()).par_for_each(|z, row| *z = row.sum());
    });
    #[cfg(feature = "candle")]
    crate::candle::sums(&mut contest, x, n, 1)?;
    contest.measure()
}

fn run_column_sums(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let mut sums = vec![0f64; n];
    for row in x.chunks(n) {
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let mut contest = Contest::new(bench, job, Expected::near(sums.iter().map(|&sum| sum as f32).collect(), 1e-4));
    let f = compile(|x: Arr<f32, (N, M)>| x.axis::<0>().sum())?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    let (kernel, strip) = (bench.native.kernel("column_sums")?, 1024.min(n / 4));
    contest.fills("C", n, move |z| kernel.run(&[to(z)], &[from(x)], &[n, n, strip], &[], n / strip, 1));
    contest.fills("rayon", n, move |z| {
        z.par_chunks_mut(strip).enumerate().for_each(|(k, z)| {
            z.fill(0.0);
            for row in x.chunks(n) {
                z.iter_mut().zip(&row[k * strip..]).for_each(|(z, x)| *z += x);
            }
        });
    });
    let view = ArrayView2::from_shape((n, n), x)?;
    contest.fills("ndarray", n, move |z| ndarray::ArrayViewMut1::from(z).assign(&view.sum_axis(Along(0))));
    #[cfg(feature = "candle")]
    crate::candle::sums(&mut contest, x, n, 0)?;
    contest.measure()
}
