//! What a call costs beside the work: saxpy on 16 elements, a thousand times.

use super::saxpy;
use crate::contest::{Contest, Expected, Failure};
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use slyz::prelude::*;

pub static JOBS: &[Job] = &[Job {
    name: "call",
    title: "1000 calls on 16 elements",
    target: None,
    run,
    source: || Ok(compile(saxpy)?.source().to_string()),
}];

const CALLS: usize = 1000;

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let (x, y): (Vec<f32>, Vec<f32>) = ((0..16).map(|i| i as f32).collect(), vec![1.0; 16]);
    let (x, y) = (&x[..], &y[..]);
    let expected = x.iter().zip(y).map(|(x, y)| 1.5 * x + y).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-6));
    let f = compile(saxpy)?;
    contest.ours(
        move || {
            let mut last = f.call(1.5, x, y)?;
            for _ in 1..CALLS {
                last = f.call(1.5, x, y)?;
            }
            Ok(last)
        },
        |z| z.to_vec(),
    );
    let kernel = bench.native.kernel("saxpy")?;
    contest.fills("C", 16, move |z| {
        for _ in 0..CALLS {
            kernel.run(&[to(z)], &[from(x), from(y)], &[16], &[1.5], 16, 16);
        }
    });
    let (xs, ys) = (ndarray::aview1(x), ndarray::aview1(y));
    contest.entry(
        "ndarray",
        ndarray::Array1::<f32>::zeros(16),
        move |z| {
            for _ in 0..CALLS {
                *z = std::hint::black_box(&xs * 1.5 + ys);
            }
        },
        |z| Ok(z.to_vec()),
    );
    contest.measure()
}
