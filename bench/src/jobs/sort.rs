//! Sorts of numbers, and of numbers that carry something.

use crate::contest::{Contest, Expected, Failure};
use crate::job::{Bench, Job, Row};
use rayon::prelude::*;
use slyz::prelude::*;
use std::cmp::Ordering;
use voracious_radix_sort::{RadixSort, Radixable};

axis!(N);

pub static JOBS: &[Job] = &[
    Job {
        name: "sort",
        title: "sort u32, 2^24",
        target: Some(1.0),
        run: run_sort,
        source: || Ok(compile(sort)?.source().to_string()),
    },
    Job {
        name: "sort_pairs",
        title: "sort (f32, u32) by the first, 2^24",
        target: Some(1.0),
        run: run_pairs,
        source: || Ok(compile(sort_pairs)?.source().to_string()),
    },
];

fn sort(x: Arr<u32, N>) -> Arr<u32, N> {
    x.sort()
}

fn sort_pairs(x: Arr<(f32, u32), N>) -> Arr<(f32, u32), N> {
    x.sort_by_key(|(key, _)| key)
}

fn random(n: usize) -> Vec<u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    (0..n).map(|_| next()).collect()
}

/// Integers as floats that are equal where they are.
fn halves(x: &[u32]) -> Vec<f32> {
    x.iter().flat_map(|x| [(x >> 16) as f32, (x & 0xffff) as f32]).collect()
}

/// The job that sorts a copy of the numbers.
fn copied<'a, T: Copy + Send + 'a>(x: &'a [T], sort: impl Fn(&mut [T]) + 'a) -> (Vec<T>, impl FnMut(&mut Vec<T>) + 'a) {
    let run = move |z: &mut Vec<T>| {
        z.copy_from_slice(x);
        sort(z);
    };
    (x.to_vec(), run)
}

fn run_sort(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let x = &random(bench.length(1 << 24));
    let threads = rayon::current_num_threads();
    let mut expected = x.clone();
    expected.sort_unstable();
    let mut contest = Contest::new(bench, job, Expected::near(halves(&expected), 0.0));
    let f = compile(sort)?;
    contest.ours(move || f.call(x), |z| Ok(halves(&z.to_vec()?)));
    let (z, run) = copied(x, move |z| z.voracious_mt_sort(threads));
    contest.entry("voracious", z, run, |z| Ok(halves(z)));
    let (z, run) = copied(x, |z| z.par_sort_unstable());
    contest.entry("rayon", z, run, |z| Ok(halves(z)));
    contest.measure()
}

#[derive(Clone, Copy, PartialEq)]
struct Pair {
    key: f32,
    value: u32,
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Pair) -> Option<Ordering> {
        self.key.partial_cmp(&other.key)
    }
}

impl Radixable<f32> for Pair {
    type Key = f32;
    fn key(&self) -> f32 {
        self.key
    }
}

fn answer(z: &[Pair]) -> Vec<f32> {
    z.iter().map(|pair| pair.key).collect()
}

fn run_pairs(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let bits = random(bench.length(1 << 24));
    // Finite numbers of either sign.
    let key = |bits: &u32| f32::from_bits(bits & 0xbfff_ffff);
    let keys: &Vec<f32> = &bits.iter().map(key).collect();
    let values: &Vec<u32> = &(0..keys.len() as u32).collect();
    let pairs: &Vec<Pair> = &keys.iter().zip(values).map(|(&key, &value)| Pair { key, value }).collect();
    let threads = rayon::current_num_threads();
    let mut expected = keys.clone();
    expected.sort_unstable_by(f32::total_cmp);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(sort_pairs)?;
    let elements: Vec<(f32, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
    let input = compile(|x: Arr<(f32, u32), N>| x)?.call(&elements)?;
    contest.ours(move || f.call(&input), |z| Ok(z.to_vec()?.into_iter().map(|(key, _)| key).collect()));
    let (z, run) = copied(pairs, move |z| z.voracious_mt_sort(threads));
    contest.entry("voracious", z, run, |z| Ok(answer(z)));
    let (z, run) = copied(pairs, |z| z.par_sort_unstable_by(|a, b| a.key.total_cmp(&b.key)));
    contest.entry("rayon", z, run, |z| Ok(answer(z)));
    contest.measure()
}
