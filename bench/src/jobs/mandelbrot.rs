//! The Mandelbrot set: a loop that every point leaves at its own time.

use crate::contest::{Contest, Expected, Failure};
use crate::job::{Bench, Job, Row};
use crate::native::to;
use ndarray::Array2;
use rayon::prelude::*;
use slyz::prelude::*;

axis!(R, C);

pub static JOBS: &[Job] = &[Job {
    name: "mandelbrot",
    title: "mandelbrot, 1024² × 256",
    target: Some(0.9),
    run,
    source: || Ok(compile(mandelbrot)?.source().to_string()),
}];

const TURNS: u32 = 256;

/// How long each point stays.
pub fn mandelbrot() -> Arr<u32, (R, C)> {
    tabulate(|(i, j): (Idx<R>, Idx<C>)| {
        let cx = -2.0 + 3.0 * j.to::<f32>() / Idx::<C>::extent().cast::<f32>();
        let cy = -1.5 + 3.0 * i.to::<f32>() / Idx::<C>::extent().cast::<f32>();
        let (_, _, count) = repeat_while(
            (0f32, 0f32, 0u32),
            |(x, y, k)| (x * x + y * y).le(4.0) & k.lt(TURNS),
            |(x, y, k)| (x * x - y * y + cx, 2.0 * x * y + cy, k + 1),
        );
        count
    })
}

fn escape(i: usize, j: usize, n: usize) -> u32 {
    let (cx, cy) = (-2.0 + 3.0 * j as f32 / n as f32, -1.5 + 3.0 * i as f32 / n as f32);
    let (mut x, mut y, mut count) = (0f32, 0f32, 0);
    while count < TURNS && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        count += 1;
    }
    count
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let numbers = |counts: &[u32]| counts.iter().map(|&k| k as f32).collect::<Vec<f32>>();
    let expected: Vec<u32> = (0..n * n).map(|p| escape(p / n, p % n, n)).collect();
    let mut contest = Contest::new(bench, job, Expected::near(numbers(&expected), 0.0).except(0.002));
    let f = compile(mandelbrot)?.size::<R>(n).size::<C>(n);
    contest.ours(move || f.call(), move |z| Ok(numbers(&z.to_vec()?)));
    let kernel = bench.native.kernel("mandelbrot")?;
    let most = TURNS as usize;
    contest.entry(
        "C",
        vec![0u32; n * n],
        move |z| kernel.run(&[to(z)], &[], &[n, n, most], &[], n, 8),
        move |z| Ok(numbers(z)),
    );
    contest.entry(
        "rayon",
        vec![0u32; n * n],
        move |z| {
            let row = |(i, z): (usize, &mut [u32])| z.iter_mut().enumerate().for_each(|(j, z)| *z = escape(i, j, n));
            z.par_chunks_mut(n).enumerate().for_each(row);
        },
        move |z| Ok(numbers(z)),
    );
    contest.entry(
        "ndarray",
        Array2::<u32>::zeros((n, n)),
        move |z| ndarray::Zip::indexed(z).par_for_each(|(i, j), z| *z = escape(i, j, n)),
        move |z| Ok(z.iter().map(|&k| k as f32).collect()),
    );
    contest.measure()
}
