//! A step of heat on a plate: a five-point stencil with clamped edges.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use ndarray::{ArrayView2, Zip, s};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N, M);

pub static JOBS: &[Job] = &[Job {
    name: "heat",
    title: "heat stencil, 4096²",
    target: Some(0.9),
    run,
    source: || Ok(compile(heat)?.source().to_string()),
}];

fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    u.stencil(Border::Clamp, |u| u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0))))
}

/// Row `i` in plain Rust.
pub fn row(z: &mut [f32], x: &[f32], i: usize, n: usize) {
    let (up, down) = (&x[i.saturating_sub(1) * n..][..n], &x[(i + 1).min(n - 1) * n..][..n]);
    let here = &x[i * n..][..n];
    let edge = |l: usize, j: usize, r: usize| here[j] + 0.1 * (up[j] + down[j] + here[l] + here[r] - 4.0 * here[j]);
    z[0] = edge(0, 0, 1);
    z[n - 1] = edge(n - 2, n - 1, n - 1);
    let inner = z[1..n - 1].iter_mut().zip(here.windows(3)).zip(up[1..].iter().zip(&down[1..]));
    inner.for_each(|((z, c), (up, down))| *z = c[1] + 0.1 * (up + down + c[0] + c[2] - 4.0 * c[1]));
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let mut expected = vec![0f32; n * n];
    expected.chunks_mut(n).enumerate().for_each(|(i, z)| row(z, x, i, n));
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5).or_within(1e-6));
    let f = compile(heat)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    for (name, kernel) in [("C", "heat"), ("C-nt", "heat_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n * n, move |z| kernel.run(&[to(z)], &[from(x)], &[n, n], &[0.1], n, 32));
    }
    contest.fills("rayon", n * n, move |z| {
        z.par_chunks_mut(n).enumerate().for_each(|(i, z)| row(z, x, i, n));
    });
    let view = ArrayView2::from_shape((n, n), x)?;
    contest.fills("ndarray", n * n, move |z| {
        for i in [0, n - 1] {
            row(&mut z[i * n..][..n], x, i, n);
        }
        let Ok(mut z) = ndarray::ArrayViewMut2::from_shape((n, n), z) else { return };
        let m = n - 1;
        let (up, down) = (view.slice(s![..m - 1, 1..m]), view.slice(s![2.., 1..m]));
        let (left, right) = (view.slice(s![1..m, ..m - 1]), view.slice(s![1..m, 2..]));
        let middle = view.slice(s![1..m, 1..m]);
        let around = Zip::from(up).and(down).and(left).and(right);
        // A zip takes six producers; the middle is written first and then read through the output.
        let mut inner = z.slice_mut(s![1..m, 1..m]);
        inner.assign(&middle);
        around
            .and(&mut inner)
            .par_for_each(|up, down, left, right, z| *z += 0.1 * (up + down + left + right - 4.0 * *z));
        for i in 1..n - 1 {
            for (l, j, r) in [(0, 0, 1), (n - 2, n - 1, n - 1)] {
                let at = |i: usize, j: usize| x[i * n + j];
                z[(i, j)] = at(i, j) + 0.1 * (at(i - 1, j) + at(i + 1, j) + at(i, l) + at(i, r) - 4.0 * at(i, j));
            }
        }
    });
    #[cfg(feature = "candle")]
    crate::candle::heat(&mut contest, x, n)?;
    contest.measure()
}
