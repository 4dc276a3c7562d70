//! Matrix products: plain, with the first transposed, many small ones, and with a bias and relu behind.
//!
//! There is no C of ours here: the contestants are crates that do nothing else.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use faer::{Accum, MatMut, MatRef, Par};
use gemm::Parallelism;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;
use slyz::prelude::*;
use slyz::{Options, Quantize};

axis!(B, N, K, M);

pub static JOBS: &[Job] = &[
    Job {
        name: "matmul",
        title: "matmul, 1024²",
        target: Some(0.9),
        run: run_plain,
        source: || Ok(compile(matmul)?.source().to_string()),
    },
    Job {
        name: "matmul_at_b",
        title: "aᵀ·b, 1024²",
        target: Some(0.9),
        run: run_turned,
        source: || Ok(compile(turned)?.source().to_string()),
    },
    Job {
        name: "matmul_batched",
        title: "matmul, 16 × 256²",
        target: Some(0.9),
        run: run_batched,
        source: || Ok(compile(batched)?.source().to_string()),
    },
    Job {
        name: "matmul_relu",
        title: "relu(a·b + bias), 1024²",
        target: Some(0.9),
        run: run_relu,
        source: || Ok(compile(layer)?.source().to_string()),
    },
    // The right factor stays from call to call; beside ours that does not know it.
    Job {
        name: "matmul_weights",
        title: "32 rows by weights of 4096²",
        target: Some(0.9),
        run: run_weights,
        source: || Ok(compile(matmul)?.source().to_string()),
    },
    // Beside ours in `f32`, and the best crate's.
    Job {
        name: "matmul_i8",
        title: "matmul of bytes, 1024²",
        target: Some(1.8),
        run: run_bytes,
        source: || Ok(compile(matmul)?.quantized(&Quantize::i8())?.source().to_string()),
    },
];

fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| sum(|k: Idx<K>| a.at((i, k)) * b.at((k, j))))
}

fn turned(a: Arr<f32, (K, N)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| sum(|k: Idx<K>| a.at((k, i)) * b.at((k, j))))
}

fn batched(a: Arr<f32, (B, N, K)>, b: Arr<f32, (B, K, M)>) -> Arr<f32, (B, N, M)> {
    tabulate(|(p, i, j)| sum(|k: Idx<K>| a.at((p, i, k)) * b.at((p, k, j))))
}

fn layer(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>, bias: Arr<f32, M>) -> Arr<f32, (N, M)> {
    (matmul(a, b) + bias).map(|v| v.max(0.0))
}

/// `z = a·b` or `z = aᵀ·b`, all of side `n`, in plain Rust.
fn plain(z: &mut [f32], a: &[f32], b: &[f32], n: usize, transposed: bool) {
    z.par_chunks_mut(n).enumerate().for_each(|(i, z)| {
        z.fill(0.0);
        for k in 0..n {
            let a = if transposed { a[k * n + i] } else { a[i * n + k] };
            z.iter_mut().zip(&b[k * n..]).for_each(|(z, b)| *z += a * b);
        }
    });
}

fn by_faer(z: &mut [f32], a: &[f32], b: &[f32], n: usize, transposed: bool, par: Par) {
    let (a, b) = (MatRef::from_row_major_slice(a, n, n), MatRef::from_row_major_slice(b, n, n));
    let a = if transposed { a.transpose() } else { a };
    let z = MatMut::from_row_major_slice_mut(z, n, n);
    faer::linalg::matmul::matmul(z, Accum::Replace, a, b, 1.0f32, par);
}

fn by_gemm(z: &mut [f32], a: &[f32], b: &[f32], n: usize, transposed: bool, threads: Parallelism) {
    let rows = z.len() / n.max(1);
    assert!(z.len() == rows * n && a.len() == rows * n && b.len() == n * n, "a matrix by one of side {n}");
    assert!(rows == n || !transposed, "square matrices where the left one is transposed");
    let side = n as isize;
    let (a_column, a_row) = if transposed { (side, 1) } else { (1, side) };
    let (z, a, b) = (z.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    // SAFETY: the strides 1 and n do not leave what the pointers have; z is borrowed exclusively.
    unsafe {
        gemm::gemm(
            rows, n, n, z, 1, side, false, a, a_column, a_row, b, 1, side, 0.0, 1.0, false, false, false, threads,
        );
    }
}

/// A product of two matrices into a third.
type Product<'f> = dyn Fn(&mut [f32], &[f32], &[f32]) + Sync + 'f;

/// ndarray, which calls `matrixmultiply`. That has threads of its own, whose time on the processor we do not see.
fn by_ndarray(z: &mut [f32], a: &[f32], b: &[f32], n: usize, transposed: bool) {
    let views = (ArrayViewMut2::from_shape((n, n), z), ArrayView2::from_shape((n, n), a));
    if let ((Ok(mut z), Ok(a)), Ok(b)) = (views, ArrayView2::from_shape((n, n), b)) {
        let a = if transposed { a.reversed_axes() } else { a };
        general_mat_mul(1.0, &a, &b, 0.0, &mut z);
    }
}

fn relu(z: &mut [f32], bias: &[f32]) {
    z.par_chunks_mut(bias.len()).for_each(|z| z.iter_mut().zip(bias).for_each(|(z, b)| *z = (*z + b).max(0.0)));
}

/// Two square matrices and their product.
fn matrices(bench: &Bench, n: usize, transposed: bool) -> (Slab, Slab, Vec<f32>) {
    let (a, b) = (Slab::random(&bench.native, n * n, -1.0, 1.0, 1), Slab::random(&bench.native, n * n, -1.0, 1.0, 2));
    let mut product = vec![0f32; n * n];
    plain(&mut product, &a, &b, n, transposed);
    (a, b, product)
}

fn run_plain(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    run_square(bench, job, false)
}

fn run_turned(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    run_square(bench, job, true)
}

fn run_square(bench: &Bench, job: &'static Job, transposed: bool) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let (a, b, expected) = matrices(bench, n, transposed);
    let (a, b) = (&a[..], &b[..]);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-3));
    if transposed {
        let f = compile(turned)?;
        contest.ours(move || f.call((a, [n, n]), (b, [n, n])), |z| z.to_vec());
    } else {
        let f = compile(matmul)?;
        contest.ours(move || f.call((a, [n, n]), (b, [n, n])), |z| z.to_vec());
    }
    contest.fills("faer", n * n, move |z| by_faer(z, a, b, n, transposed, Par::rayon(0)));
    contest.fills("gemm", n * n, move |z| by_gemm(z, a, b, n, transposed, Parallelism::Rayon(0)));
    if !bench.cpu_time {
        contest.fills("ndarray", n * n, move |z| by_ndarray(z, a, b, n, transposed));
    }
    contest.fills("rayon", n * n, move |z| plain(z, a, b, n, transposed));
    #[cfg(feature = "candle")]
    crate::candle::matmul(&mut contest, a, b, n, transposed)?;
    contest.measure()
}

fn run_weights(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let (rows, n) = (32, bench.side(4096));
    let x = &Slab::random(&bench.native, rows * n, -1.0, 1.0, 1)[..];
    let w = &Slab::random(&bench.native, n * n, -1.0, 1.0, 2)[..];
    let mut expected = vec![0f32; rows * n];
    plain(&mut expected, x, w, n, false);
    let kept = slyz::compile_with(matmul, &Options::new().weights([2]))?;
    let f = compile(matmul)?;
    let weights = Tensor::<f32, (K, M)>::from_vec([n, n], w.to_vec())?;
    let same = weights.clone();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-2).or_within(1e-2));
    contest.ours(move || kept.call((x, [rows, n]), &weights), |z| z.to_vec());
    contest.ours_as("as they lie", move || f.call((x, [rows, n]), &same), |z| z.to_vec());
    contest.fills("faer", rows * n, move |z| {
        let (x, w) = (MatRef::from_row_major_slice(x, rows, n), MatRef::from_row_major_slice(w, n, n));
        let z = MatMut::from_row_major_slice_mut(z, rows, n);
        faer::linalg::matmul::matmul(z, Accum::Replace, x, w, 1.0f32, Par::rayon(0));
    });
    contest.fills("gemm", rows * n, move |z| by_gemm(z, x, w, n, false, Parallelism::Rayon(0)));
    contest.fills("rayon", rows * n, move |z| plain(z, x, w, n, false));
    contest.measure()
}

fn run_bytes(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let (a, b, expected) = matrices(bench, n, false);
    let largest = expected.iter().fold(0f32, |most, x| most.max(x.abs()));
    let f = compile(matmul)?;
    let x = Tensor::<f32, (N, K)>::from_vec([n, n], a.to_vec())?;
    let w = Tensor::<f32, (K, M)>::from_vec([n, n], b.to_vec())?;
    let small = f.quantize(&Quantize::i8().within(0.02), |f| f.call(&x, &w))?;
    let (a, b) = (&a[..], &b[..]);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0).or_within(0.02 * largest));
    let (own_x, own_w) = (x.clone(), w.clone());
    contest.ours(move || small.call(&own_x, &own_w), |z| z.to_vec());
    contest.ours_as("in f32", move || f.call(&x, &w), |z| z.to_vec());
    contest.fills("gemm", n * n, move |z| by_gemm(z, a, b, n, false, Parallelism::Rayon(0)));
    contest.measure()
}

fn run_batched(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let (count, n) = (16, bench.side(256));
    let slab = |seed| Slab::random(&bench.native, count * n * n, -1.0, 1.0, seed);
    let (a, b) = (&slab(1)[..], &slab(2)[..]);
    let mut expected = vec![0f32; count * n * n];
    let each = move |z: &mut [f32], f: &Product<'_>| {
        let pairs = a.par_chunks(n * n).zip(b.par_chunks(n * n));
        z.par_chunks_mut(n * n).zip(pairs).for_each(|(z, (a, b))| f(z, a, b));
    };
    each(&mut expected, &|z, a, b| plain(z, a, b, n, false));
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-3));
    let f = compile(batched)?;
    contest.ours(move || f.call((a, [count, n, n]), (b, [count, n, n])), |z| z.to_vec());
    let len = count * n * n;
    contest.fills("faer", len, move |z| each(z, &|z, a, b| by_faer(z, a, b, n, false, Par::Seq)));
    contest.fills("gemm", len, move |z| each(z, &|z, a, b| by_gemm(z, a, b, n, false, Parallelism::None)));
    if !bench.cpu_time {
        contest.fills("ndarray", len, move |z| {
            let pairs = a.chunks(n * n).zip(b.chunks(n * n));
            z.chunks_mut(n * n).zip(pairs).for_each(|(z, (a, b))| by_ndarray(z, a, b, n, false));
        });
    }
    contest.fills("rayon", len, move |z| each(z, &|z, a, b| plain(z, a, b, n, false)));
    #[cfg(feature = "candle")]
    crate::candle::matmul_batched(&mut contest, a, b, count, n)?;
    contest.measure()
}

fn run_relu(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let (a, b, mut expected) = matrices(bench, n, false);
    let bias = &Slab::random(&bench.native, n, -1.0, 1.0, 3)[..];
    let (a, b) = (&a[..], &b[..]);
    relu(&mut expected, bias);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-3));
    let f = compile(layer)?;
    contest.ours(move || f.call((a, [n, n]), (b, [n, n]), bias), |z| z.to_vec());
    let mut with = |name: &str, product: fn(&mut [f32], &[f32], &[f32], usize)| {
        contest.fills(name, n * n, move |z| {
            product(z, a, b, n);
            relu(z, bias);
        });
    };
    with("faer", |z, a, b, n| by_faer(z, a, b, n, false, Par::rayon(0)));
    with("gemm", |z, a, b, n| by_gemm(z, a, b, n, false, Parallelism::Rayon(0)));
    if !bench.cpu_time {
        with("ndarray", |z, a, b, n| by_ndarray(z, a, b, n, false));
    }
    with("rayon", |z, a, b, n| plain(z, a, b, n, false));
    #[cfg(feature = "candle")]
    crate::candle::matmul_relu(&mut contest, a, b, bias, n)?;
    contest.measure()
}
