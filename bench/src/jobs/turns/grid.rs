//! Turns over a plate: heat, conjugate gradients, Gauss-Seidel.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::jobs::heat::row;
use crate::native::{from, to};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N, M);

pub static JOBS: &[Job] = &[
    Job {
        name: "heat_turns",
        title: "heat, 1,000 turns of 512²",
        target: Some(0.9),
        run: run_heat,
        source: || Ok(compile(heat)?.source().to_string()),
    },
    Job {
        name: "conjugate_gradient",
        title: "conjugate gradients, 50 turns of 1024²",
        target: None,
        run: run_gradients,
        source: || Ok(compile(conjugate_gradient)?.source().to_string()),
    },
    Job {
        name: "gauss_seidel",
        title: "Gauss-Seidel, 100 sweeps of 512²",
        target: None,
        run: run_gauss_seidel,
        source: || Ok(compile(gauss_seidel)?.source().to_string()),
    },
];

fn heat(u: Arr<f32, (N, M)>, turns: Exp<u32>) -> Arr<f32, (N, M)> {
    iterate(turns, u, |_, u: Arr<f32, (N, M)>| {
        u.stencil(Border::Clamp, |u| {
            u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0)))
        })
    })
}

fn run_heat(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(512);
    let turns = if bench.quick { 20 } else { 1000 };
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let plain = move |z: &mut [f32]| {
        let mut now = x.to_vec();
        let mut next = vec![0f32; n * n];
        for _ in 0..turns {
            next.chunks_mut(n).enumerate().for_each(|(i, z)| row(z, &now, i, n));
            std::mem::swap(&mut now, &mut next);
        }
        z.copy_from_slice(&now);
    };
    let mut expected = vec![0f32; n * n];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-5));
    let f = compile(heat)?;
    contest.ours(move || f.call((x, [n, n]), turns as u32), |z| z.to_vec());
    contest.fills("plain", n * n, plain);
    contest.fills("rayon", n * n, move |z| {
        let mut now = x.to_vec();
        let mut next = vec![0f32; n * n];
        for _ in 0..turns {
            next.par_chunks_mut(8 * n).enumerate().for_each(|(k, z)| {
                z.chunks_mut(n).enumerate().for_each(|(i, z)| row(z, &now, 8 * k + i, n));
            });
            std::mem::swap(&mut now, &mut next);
        }
        z.copy_from_slice(&now);
    });
    let kernel = bench.native.kernel("heat")?;
    contest.fills("C", n * n, move |z| {
        let mut now = x.to_vec();
        let mut next = vec![0f32; n * n];
        for _ in 0..turns {
            kernel.run(&[to(&mut next)], &[from(&now)], &[n, n], &[0.1], n, 32);
            std::mem::swap(&mut now, &mut next);
        }
        z.copy_from_slice(&now);
    });
    contest.measure()
}

/// The Laplacian of a plate with a border of zeros.
fn laplacian(p: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    p.stencil(Border::Value(0.0), |p| 4.0 * p((0, 0)) - p((-1, 0)) - p((1, 0)) - p((0, -1)) - p((0, 1)))
}

fn conjugate_gradient(b: Arr<f32, (N, M)>, turns: Exp<u32>) -> Arr<f32, (N, M)> {
    type Plate = Arr<f32, (N, M)>;
    let start: (Plate, Plate, Plate, Exp<f32>) = (fill(0.0), b, b, (b * b).sum());
    let (x, ..) = iterate(turns, start, |_, (x, r, p, rr): (Plate, Plate, Plate, Exp<f32>)| {
        let ap = laplacian(p);
        let alpha = rr / (p * ap).sum();
        let x = x + alpha * p;
        let r = r - alpha * ap;
        let next = (r * r).sum();
        (x, r, r + next / rr * p, next)
    });
    x
}

fn plain_laplacian(z: &mut [f32], p: &[f32], n: usize) {
    for i in 0..n {
        for j in 0..n {
            let up = if i > 0 { p[(i - 1) * n + j] } else { 0.0 };
            let down = if i + 1 < n { p[(i + 1) * n + j] } else { 0.0 };
            let left = if j > 0 { p[i * n + j - 1] } else { 0.0 };
            let right = if j + 1 < n { p[i * n + j + 1] } else { 0.0 };
            z[i * n + j] = 4.0 * p[i * n + j] - up - down - left - right;
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    let (a, b) = (a.chunks_exact(16), b.chunks_exact(16));
    a.zip(b).for_each(|(a, b)| (0..16).for_each(|k| sums[k] += a[k] * b[k]));
    sums.iter().sum()
}

fn run_gradients(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let turns = 50;
    let b = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let plain = move |x: &mut [f32]| {
        x.fill(0.0);
        let mut r = b.to_vec();
        let mut p = b.to_vec();
        let mut ap = vec![0f32; n * n];
        let mut rr = dot(&r, &r);
        for _ in 0..turns {
            plain_laplacian(&mut ap, &p, n);
            let alpha = rr / dot(&p, &ap);
            x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
            r.iter_mut().zip(&ap).for_each(|(r, ap)| *r -= alpha * ap);
            let next = dot(&r, &r);
            let beta = next / rr;
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
            rr = next;
        }
    };
    let mut expected = vec![0f32; n * n];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.02).or_within(0.02));
    let f = compile(conjugate_gradient)?;
    contest.ours(move || f.call((b, [n, n]), turns), |z| z.to_vec());
    contest.fills("plain", n * n, plain);
    contest.measure()
}

/// Sweeps that use what they have just computed: a row from the row above it, each element from the one before it.
fn gauss_seidel(u: Arr<f32, (N, M)>, sweeps: Exp<u32>) -> Arr<f32, (N, M)> {
    type Plate = Arr<f32, (N, M)>;
    iterate(sweeps, u, |_, u: Plate| {
        for_each::<N, _>(u, |i, u: Plate| {
            let fixed: Arr<f32, M> = tabulate(|j: Idx<M>| {
                0.25 * (u.at_or((i - 1, j), 0.0) + u.at_or((i + 1, j), 0.0) + u.at_or((i, j + 1), 0.0))
            });
            let (u, _) = for_each::<M, _>((u, 0f32), |j, (u, left): (Plate, Exp<f32>)| {
                let value = fixed.at(j) + 0.25 * left;
                (u.with((i, j), value), value)
            });
            u
        })
    })
}

fn run_gauss_seidel(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(512);
    let sweeps = if bench.quick { 5 } else { 100 };
    let x = &Slab::random(&bench.native, n * n, 0.0, 1.0, 1)[..];
    let plain = move |z: &mut [f32]| {
        // A border of zeros spares the tests.
        let m = n + 2;
        let mut u = vec![0f32; m * m];
        (0..n).for_each(|i| u[(i + 1) * m + 1..][..n].copy_from_slice(&x[i * n..][..n]));
        for _ in 0..sweeps {
            for i in 1..=n {
                for j in 1..=n {
                    let at = i * m + j;
                    u[at] = 0.25 * (u[at - m] + u[at + m] + u[at + 1] + u[at - 1]);
                }
            }
        }
        (0..n).for_each(|i| z[i * n..][..n].copy_from_slice(&u[(i + 1) * m + 1..][..n]));
    };
    let mut expected = vec![0f32; n * n];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-5));
    let f = compile(gauss_seidel)?;
    contest.ours(move || f.call((x, [n, n]), sweeps as u32), |z| z.to_vec());
    contest.fills("plain", n * n, plain);
    contest.measure()
}
