//! Kernels by hand whose threads meet often (`#[graph]`), beside plain Rust on one thread: what a CPU makes of barriers.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, OURS, Row};
use slyz::prelude::*;

pub static JOBS: &[Job] = &[
    Job {
        name: "graph_block_scan",
        title: "#[graph] scans of blocks of 256, 2^22",
        target: None,
        run: run_scan,
        source: || source(block_scan(&[0.0f32], &mut [0.0f32])),
    },
    Job {
        name: "graph_lud",
        title: "#[graph] LU of 16 × 16 blocks, 4096 of them",
        target: None,
        run: run_lud,
        source: || source(lud_diagonal(&[0.0f32], &mut [0.0f32])),
    },
    Job {
        name: "graph_histogram",
        title: "#[graph] histogram of 256 bins, 2^22",
        target: None,
        run: run_histogram,
        source: || source(histogram(&[0.0f32], &mut [0i32])),
    },
];

fn source(launch: slyz::graph::Launch) -> Result<String, Failure> {
    Ok(launch.kernel().source_on(&slyz::device("cpu")?)?)
}

/// The sums so far in each block, by doubling steps.
#[slyz::graph]
pub fn block_scan(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    #[threadgroup]
    let mut tile: [f32; 256];
    let t = thread.x;
    let i = block.x * 256 + t;
    tile[t] = x[i];
    threadgroup.barrier();
    let mut step = 1;
    while step < 256 {
        let before = if t >= step { tile[t - step] } else { 0.0f32 };
        threadgroup.barrier();
        tile[t] += before;
        threadgroup.barrier();
        step *= 2;
    }
    out[i] = tile[t];
}

/// Rodinia's diagonal kernel on many matrices: a block of 16 threads factors one in place.
#[slyz::graph]
pub fn lud_diagonal(a: &Tensor<f32>, out: &mut Tensor<f32>) {
    #[threadgroup]
    let mut tile: [f32; 256];
    let t = thread.x;
    let start = block.x * 256;
    for row in 0..16 {
        tile[row * 16 + t] = a[start + row * 16 + t];
    }
    threadgroup.barrier();
    for k in 0..15 {
        if t > k {
            for j in 0..k {
                tile[t * 16 + k] -= tile[t * 16 + j] * tile[j * 16 + k];
            }
            tile[t * 16 + k] /= tile[k * 16 + k];
        }
        threadgroup.barrier();
        if t > k {
            for j in 0..(k + 1) {
                tile[(k + 1) * 16 + t] -= tile[(k + 1) * 16 + j] * tile[j * 16 + t];
            }
        }
        threadgroup.barrier();
    }
    for row in 0..16 {
        out[start + row * 16 + t] = tile[row * 16 + t];
    }
}

/// Counts of a block in its own memory, added to those of all.
#[slyz::graph]
pub fn histogram(x: &Tensor<f32>, bins: &mut Tensor<i32>) {
    #[threadgroup]
    let mut own: [i32; 256];
    let t = thread.x;
    own[t] = 0;
    threadgroup.barrier();
    let mut i = block.x * 256 + t;
    while i < x.len() {
        atomic.add(own[max(0, min(255, (x[i] * 256.0) as i32))], 1);
        i += gridDim.x * 256;
    }
    threadgroup.barrier();
    atomic.add(bins[t], own[t]);
}

type Made<T> = Result<Tensor<T>, slyz::Error>;

/// Launches on a tensor that is there; the first failure stays.
fn launched<T: slyz::Elem>(out: &mut Made<T>, launch: impl FnOnce(&mut Tensor<T>) -> Result<(), slyz::Error>) {
    if let Ok(tensor) = out
        && let Err(error) = launch(tensor)
    {
        *out = Err(error);
    }
}

fn floats(out: &Made<f32>) -> Result<Vec<f32>, Failure> {
    match out {
        Ok(out) => Ok(out.to_vec()?),
        Err(error) => Err(error.to_string().into()),
    }
}

fn run_scan(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 22);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let plain = move |out: &mut [f32]| {
        for (sums, values) in out.chunks_mut(256).zip(x.chunks(256)) {
            let mut sum = 0.0;
            for (out, value) in sums.iter_mut().zip(values) {
                sum += value;
                *out = sum;
            }
        }
    };
    let mut expected = vec![0.0; n];
    plain(&mut expected);
    let cpu = slyz::device("cpu")?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5));
    let run = move |out: &mut Made<f32>| {
        launched(out, |out| block_scan(x, out).grid(n / 256).block(256).on(&cpu).run());
    };
    contest.entry(OURS, Tensor::<f32>::zeros([n]), run, floats);
    contest.fills("Rust, one thread", n, plain);
    contest.measure()
}

fn run_lud(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 20);
    let mut a = Slab::random(&bench.native, n, 0.0, 1.0, 1);
    // No pivots are needed where the diagonal is heavy.
    a.chunks_mut(256).for_each(|matrix| (0..16).for_each(|k| matrix[k * 17] += 16.0));
    let a = &a[..];
    let plain = move |out: &mut [f32]| {
        out.copy_from_slice(a);
        for matrix in out.chunks_mut(256) {
            for k in 0..16 {
                for row in k + 1..16 {
                    let factor = matrix[row * 16 + k] / matrix[k * 16 + k];
                    matrix[row * 16 + k] = factor;
                    for column in k + 1..16 {
                        matrix[row * 16 + column] -= factor * matrix[k * 16 + column];
                    }
                }
            }
        }
    };
    let mut expected = vec![0.0; n];
    plain(&mut expected);
    let cpu = slyz::device("cpu")?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4).or_within(1e-5));
    let run = move |out: &mut Made<f32>| {
        launched(out, |out| lud_diagonal(a, out).grid(n / 256).block(16).on(&cpu).run());
    };
    contest.entry(OURS, Tensor::<f32>::zeros([n]), run, floats);
    contest.fills("Rust, one thread", n, plain);
    contest.measure()
}

fn run_histogram(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 22);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let plain = move |out: &mut [f32]| {
        let mut counts = [0i32; 256];
        x.iter().for_each(|x| counts[((x * 256.0) as i32).clamp(0, 255) as usize] += 1);
        out.iter_mut().zip(counts).for_each(|(out, count)| *out = count as f32);
    };
    let mut expected = vec![0.0; 256];
    plain(&mut expected);
    let cpu = slyz::device("cpu")?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let run = move |out: &mut Made<i32>| {
        *out = Tensor::<i32>::zeros([256]);
        launched(out, |out| histogram(x, out).grid(64).block(256).on(&cpu).run());
    };
    contest.entry(OURS, Tensor::<i32>::zeros([256]), run, |out| match out {
        Ok(out) => Ok(out.to_vec()?.into_iter().map(|count| count as f32).collect()),
        Err(error) => Err(error.to_string().into()),
    });
    contest.fills("Rust, one thread", 256, plain);
    contest.measure()
}
