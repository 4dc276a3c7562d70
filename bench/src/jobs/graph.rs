//! Kernels by hand (`#[graph]`): the same in C, written for one core.

use super::GRAIN;
use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, OURS, Row};
use crate::native::{from, to};
use slyz::prelude::*;
use slyz::{Device, compile_on};
use std::sync::Arc;

pub static JOBS: &[Job] = &[
    Job {
        name: "graph_saxpy",
        title: "#[graph] saxpy, 2^24",
        target: Some(0.95),
        run: run_saxpy,
        source: || source(saxpy(1.0, &[0.0f32], &[0.0f32], &mut [0.0f32])),
    },
    Job {
        name: "graph_relu",
        title: "#[graph] relu, 2^24",
        target: Some(0.95),
        run: run_relu,
        source: || source(relu(&[0.0f32], &mut [0.0f32])),
    },
    Job {
        name: "graph_chain",
        title: "#[graph] five launches that wait, 2^24",
        target: Some(0.9),
        run: run_chain,
        source: || source(relu(&[0.0f32], &mut [0.0f32])),
    },
    Job {
        name: "graph_tiled_matmul",
        title: "#[graph] tiled matmul, 1024",
        target: Some(0.95),
        run: run_tiled_matmul,
        source: || source(tiled_matmul(&[0.0f32], &[0.0f32], &mut [0.0f32], 0, 0, 0)),
    },
    Job {
        name: "graph_matmul",
        title: "#[graph] naive matmul, 1024",
        target: Some(0.9),
        run: run_matmul,
        source: || source(naive_matmul(&[0.0f32], &[0.0f32], &mut [0.0f32], 0, 0, 0)),
    },
    Job {
        name: "graph_softmax",
        title: "#[graph] naive softmax of rows, 2048²",
        target: Some(0.9),
        run: run_softmax,
        source: || source(naive_softmax(&[0.0f32], &mut [0.0f32], 0, 0)),
    },
];

axis!(N, M, K);

fn source(launch: slyz::graph::Launch) -> Result<String, Failure> {
    Ok(launch.kernel().source_on(&slyz::device("cpu")?)?)
}

/// `a x + y`.
#[slyz::graph]
pub fn saxpy(a: f32, x: &Tensor<f32>, y: &Tensor<f32>, out: &mut Tensor<f32>) {
    let i = thread.x;
    if i < out.len() {
        out[i] = a * x[i] + y[i];
    }
}

/// `max(0, x)`.
#[slyz::graph]
pub fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let i = thread.x;
    if i < output.len() {
        output[i] = max(0.0, input[i]);
    }
}

/// Five launches of those, one after another.
pub fn five(x: &Tensor<f32>, y: &Tensor<f32>, device: &Arc<dyn Device>) -> Result<Tensor<f32>, slyz::Error> {
    let n = x.len();
    let zeros = || Tensor::<f32>::zeros([n]);
    let [mut a, mut b, mut c, mut d, mut e] = [zeros()?, zeros()?, zeros()?, zeros()?, zeros()?];
    saxpy(2.5, x, y, &mut a).threads(n).on(device).run()?;
    relu(&a, &mut b).threads(n).on(device).run()?;
    saxpy(0.5, &b, x, &mut c).threads(n).on(device).run()?;
    relu(&c, &mut d).threads(n).on(device).run()?;
    saxpy(-1.5, &d, y, &mut e).threads(n).on(device).run()?;
    Ok(e)
}

/// The page's product in tiles of 16 × 16.
#[slyz::graph]
pub fn tiled_matmul(a: &Tensor<f32>, b: &Tensor<f32>, c: &mut Tensor<f32>, m: i32, n: i32, k: i32) {
    let tile_size = 16;
    #[threadgroup]
    let mut tile_a: [f32; 256];
    #[threadgroup]
    let mut tile_b: [f32; 256];
    let row = block.y * tile_size + thread.y;
    let col = block.x * tile_size + thread.x;
    let mut sum = 0.0f32;
    for tile in 0..(k / tile_size) {
        tile_a[thread.y * tile_size + thread.x] = a[row * k + tile * tile_size + thread.x];
        tile_b[thread.y * tile_size + thread.x] = b[(tile * tile_size + thread.y) * n + col];
        threadgroup.barrier();
        for i in 0..tile_size {
            sum += tile_a[thread.y * tile_size + i] * tile_b[i * tile_size + thread.x];
        }
        threadgroup.barrier();
    }
    if row < m && col < n {
        c[row * n + col] = sum;
    }
}

/// The page's product, an element for each thread.
#[slyz::graph]
pub fn naive_matmul(a: &Tensor<f32>, b: &Tensor<f32>, c: &mut Tensor<f32>, m: i32, n: i32, k: i32) {
    let row = thread.y;
    let col = thread.x;
    if row < m && col < n {
        let mut sum = 0.0f32;
        for i in 0..k {
            sum += a[row * k + i] * b[i * n + col];
        }
        c[row * n + col] = sum;
    }
}

/// A row for each thread, as one writes it first.
#[slyz::graph]
pub fn naive_softmax(x: &Tensor<f32>, out: &mut Tensor<f32>, n: i32, m: i32) {
    let row = thread.x;
    if row < n {
        let mut most = x[row * m];
        for j in 0..m {
            most = max(most, x[row * m + j]);
        }
        let mut sum = 0.0f32;
        for j in 0..m {
            let e = exp(x[row * m + j] - most);
            out[row * m + j] = e;
            sum += e;
        }
        for j in 0..m {
            out[row * m + j] = out[row * m + j] / sum;
        }
    }
}

/// The same, rounding once a term.
#[slyz::graph]
pub fn fused_matmul(a: &Tensor<f32>, b: &Tensor<f32>, c: &mut Tensor<f32>, m: i32, n: i32, k: i32) {
    let tile_size = 16;
    #[threadgroup]
    let mut tile_a: [f32; 256];
    #[threadgroup]
    let mut tile_b: [f32; 256];
    let row = block.y * tile_size + thread.y;
    let col = block.x * tile_size + thread.x;
    let mut sum = 0.0f32;
    for tile in 0..(k / tile_size) {
        tile_a[thread.y * tile_size + thread.x] = a[row * k + tile * tile_size + thread.x];
        tile_b[thread.y * tile_size + thread.x] = b[(tile * tile_size + thread.y) * n + col];
        threadgroup.barrier();
        for i in 0..tile_size {
            sum = fma(tile_a[thread.y * tile_size + i], tile_b[i * tile_size + thread.x], sum);
        }
        threadgroup.barrier();
    }
    if row < m && col < n {
        c[row * n + col] = sum;
    }
}

/// A tensor that launches write again and again.
fn zeros(n: usize) -> Result<Tensor<f32>, slyz::Error> {
    Tensor::<f32>::zeros([n])
}

fn ours<'a>(
    contest: &mut Contest<'a>,
    n: usize,
    mut launch: impl FnMut(&mut Tensor<f32>) -> Result<(), slyz::Error> + 'a,
) {
    let run = move |out: &mut Result<Tensor<f32>, slyz::Error>| {
        if let Ok(tensor) = out
            && let Err(error) = launch(tensor)
        {
            *out = Err(error);
        }
    };
    contest.entry(OURS, zeros(n), run, |out| match out {
        Ok(out) => Ok(out.to_vec()?),
        Err(error) => Err(error.to_string().into()),
    });
}

fn run_saxpy(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let (x, y) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let (a, cpu) = (1.5f32, slyz::device("cpu")?);
    let expected = x.iter().zip(y).map(|(x, y)| a * x + y).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-6));
    let f = compile_on(&cpu, |a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| x * a + y)?;
    arrays(&mut contest, move || Ok(f.call(a, x, y)?.into_dyn()));
    ours(&mut contest, n, move |z| saxpy(a, x, y, z).threads(n).on(&cpu).run());
    for (name, kernel) in [("C", "saxpy"), ("C-nt", "saxpy_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n, move |z| kernel.run(&[to(z)], &[from(x), from(y)], &[n], &[a], n, GRAIN));
    }
    contest.measure()
}

fn run_relu(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, -1.0, 1.0, 1)[..];
    let cpu = slyz::device("cpu")?;
    let mut contest = Contest::new(bench, job, Expected::near(x.iter().map(|x| x.max(0.0)).collect(), 0.0));
    let f = compile_on(&cpu, |x: Arr<f32, N>| x.maximum(0.0))?;
    arrays(&mut contest, move || Ok(f.call(x)?.into_dyn()));
    ours(&mut contest, n, move |z| relu(x, z).threads(n).on(&cpu).run());
    for (name, kernel) in [("C", "relu"), ("C-nt", "relu_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        contest.fills(name, n, move |z| kernel.run(&[to(z)], &[from(x)], &[n], &[], n, GRAIN));
    }
    contest.measure()
}

fn run_chain(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let (x, y) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let (x, y) = (Tensor::from_vec([n], x.to_vec())?, Tensor::from_vec([n], y.to_vec())?);
    let cpu = slyz::device("cpu")?;
    let expected = five(&x, &y, &cpu)?.to_vec()?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-6));
    let (late, now) = ((x.clone(), y.clone(), cpu.clone()), (x, y, cpu));
    calls(&mut contest, OURS, move || slyz::lazy(|| five(&late.0, &late.1, &late.2)));
    calls(&mut contest, "one by one", move || five(&now.0, &now.1, &now.2));
    contest.measure()
}

fn run_tiled_matmul(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let side = bench.side(1024);
    let n = side * side;
    let (a, b) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let mut expected = vec![0.0f32; n];
    for row in 0..side {
        for k in 0..side {
            let scale = a[row * side + k];
            let (sums, values) = (&mut expected[row * side..][..side], &b[k * side..][..side]);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += scale * value);
        }
    }
    let cpu = slyz::device("cpu")?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5));
    let (blocks, extent) = (side / 16, side as i32);
    ours(&mut contest, n, move |c| {
        tiled_matmul(a, b, c, extent, extent, extent).grid((blocks, blocks)).block((16, 16)).on(&cpu).run()
    });
    let kernel = bench.native.kernel("tiled_matmul")?;
    let units = blocks * blocks;
    contest.fills("C", n, move |c| kernel.run(&[to(c)], &[from(a), from(b)], &[side], &[], units, 16));
    contest.measure()
}

fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| slyz::sum(|k: Idx<K>| a.at((i, k)) * b.at((k, j))))
}

fn run_matmul(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let side = bench.side(1024);
    let n = side * side;
    let (a, b) = (&Slab::random(&bench.native, n, 0.0, 1.0, 1)[..], &Slab::random(&bench.native, n, 0.0, 1.0, 2)[..]);
    let (cpu, extent) = (slyz::device("cpu")?, side as i32);
    let f = compile_on(&cpu, matmul)?;
    let expected = f.call((a, [side, side]), (b, [side, side]))?.to_vec()?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5));
    ours(&mut contest, n, move |c| naive_matmul(a, b, c, extent, extent, extent).threads((side, side)).on(&cpu).run());
    arrays(&mut contest, move || Ok(f.call((a, [side, side]), (b, [side, side]))?.into_dyn()));
    contest.measure()
}

fn softmax(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

fn run_softmax(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let side = bench.side(2048);
    let n = side * side;
    let x = &Slab::random(&bench.native, n, -10.0, 10.0, 1)[..];
    let (cpu, extent) = (slyz::device("cpu")?, side as i32);
    let f = compile_on(&cpu, softmax)?;
    let expected = f.call((x, [side, side]))?.to_vec()?;
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4));
    ours(&mut contest, n, move |out| naive_softmax(x, out, extent, extent).threads(side).on(&cpu).run());
    arrays(&mut contest, move || Ok(f.call((x, [side, side]))?.into_dyn()));
    contest.measure()
}

/// The same as a function over arrays.
fn arrays<'a>(contest: &mut Contest<'a>, call: impl FnMut() -> Result<Tensor<f32>, slyz::Error> + 'a) {
    calls(contest, "arrays", call);
}

/// A contestant that gives a tensor.
fn calls<'a>(
    contest: &mut Contest<'a>,
    name: &'static str,
    mut call: impl FnMut() -> Result<Tensor<f32>, slyz::Error> + 'a,
) {
    let run = move |out: &mut Option<Result<Tensor<f32>, slyz::Error>>| *out = Some(call());
    contest.entry(name, None, run, |out| match out {
        Some(Ok(out)) => Ok(out.to_vec()?),
        Some(Err(error)) => Err(error.to_string().into()),
        None => Err("it did not run".into()),
    });
}
