//! How many numbers fall into each of 256 bins.

use super::CHUNK;
use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N);

pub static JOBS: &[Job] = &[Job {
    name: "histogram",
    title: "histogram of 256, 2^24",
    target: None,
    run,
    source: || Ok(compile(histogram)?.source().to_string()),
}];

fn histogram(x: Arr<f32, N>) -> Arr<u32, Fix<256>> {
    scatter(Sum, |i: Idx<N>| (Near::<Fix<256>>::new(x.at(i).cast::<i32>()), 1u32))
}

fn count(mut bins: Vec<u32>, x: &[f32]) -> Vec<u32> {
    x.iter().for_each(|&x| bins[x as usize & 255] += 1);
    bins
}

fn add(mut a: Vec<u32>, b: Vec<u32>) -> Vec<u32> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, 0.0, 256.0, 1)[..];
    let numbers = |bins: &[u32]| bins.iter().map(|&k| k as f32).collect::<Vec<f32>>();
    let mut contest = Contest::new(bench, job, Expected::near(numbers(&count(vec![0; 256], x)), 0.0));
    let f = compile(histogram)?;
    contest.ours(move || f.call(x), move |z| Ok(numbers(&z.to_vec()?)));
    let kernel = bench.native.kernel("histogram")?;
    const GRAIN: usize = 64;
    let chunks = n.div_ceil(CHUNK);
    let mut parts = vec![0u32; chunks * 256];
    contest.entry(
        "C",
        vec![0u32; 256],
        move |bins| {
            kernel.run(&[to(&mut parts)], &[from(x)], &[n, CHUNK], &[], chunks, GRAIN);
            bins.fill(0);
            for part in parts.chunks(256).step_by(GRAIN) {
                bins.iter_mut().zip(part).for_each(|(bin, part)| *bin += part);
            }
        },
        move |bins| Ok(numbers(bins)),
    );
    contest.entry(
        "rayon",
        vec![],
        move |bins| {
            let zeros = || vec![0u32; 256];
            *bins = x.par_chunks(CHUNK).fold(zeros, count).reduce(zeros, add);
        },
        move |bins| Ok(numbers(bins)),
    );
    contest.measure()
}
