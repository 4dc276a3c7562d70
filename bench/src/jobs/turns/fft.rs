//! The Fourier transform of 2²⁰ complex numbers, in stages.
//!
//! The least that one can do: read and write 8 MiB each, and `5 n log2 n`, 105 million, flops. The signal does not fit into the nearer
//! caches, but a strip of it does: 1024 numbers that are 1024 apart, sixteen such rows side by side. So it is transformed as a square,
//! all its columns and then all its rows, by strips; the stages of a strip, five of radix 4 in Stockham's order, stay in the cache. That is
//! three times through the memory, 16 MiB each: columns, rows, and the strips of the result put side by side.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex as Pair;
use slyz::prelude::*;
use std::f64::consts::TAU;

pub static JOBS: &[Job] = &[Job {
    name: "fft",
    title: "FFT of 2²⁰",
    target: Some(0.5),
    run,
    source: || Ok(compile(fft)?.source().to_string()),
}];

const SIDE: usize = 1024;
const WIDE: usize = 16;
const STRIPS: usize = SIDE / WIDE;

type Number = Complex<Exp<f32>>;
/// The rows of a strip stand side by side in vectors.
type Wide = Fix<WIDE>;
type Strips = Fix<STRIPS>;
type Side = Flat<Strips, Wide>;
type Strip = Arr<Complex<f32>, (Side, Wide)>;
type Square = (Side, Strips, Wide);

/// `sum + a * b`, rounded once per product.
fn mul_add(sum: Number, a: Number, b: Number) -> Number {
    let re = (-a.im).mul_add(b.im, a.re.mul_add(b.re, sum.re));
    let im = a.im.mul_add(b.re, a.re.mul_add(b.im, sum.im));
    Complex::new(re, im)
}

/// A stage of radix 4 of all rows of a strip, after which `4 * done` frequencies are known. A row of the result takes four rows that are
/// a quarter of the strip apart.
fn stage(x: Strip, roots: Arr<Complex<f32>, Side>, done: i64) -> Strip {
    tabulate(|(row, lane): Pos<(Side, Wide)>| {
        let row = row.i64();
        let k = (row / done) & 3;
        let block = row / (4 * done) * done;
        let root = |turns: Exp<i64>| roots.get(turns & (SIDE as i64 - 1)).clamp();
        let value = |quarter: i64| x.get((block + (row & (done - 1)) + quarter * (SIDE as i64 / 4), lane)).clamp();
        // The fourth roots of 1 are signs and swaps: what they do to the second and the third value is a sign.
        let sign = 1.0 - 2.0 * (k & 1).cast::<f32>();
        let pair = |a: Number, b: Number| Complex::new(sign.mul_add(b.re, a.re), sign.mul_add(b.im, a.im));
        let even = pair(value(0), value(2));
        let odd = pair(value(1), value(3));
        mul_add(even * root(k * block), odd, root(k * (block + SIDE as i64 / 4)))
    })
}

/// The transform of each row of a strip.
fn transform(strip: Strip, roots: Arr<Complex<f32>, Side>) -> Strip {
    [1, 4, 16, 64, 256].into_iter().fold(strip, |strip, done| stage(strip, roots, done))
}

/// The transform of a square, whose columns are transformed first. In between its values are turned by `(row * column) / SIDE²`: by what
/// `fine` tells of the column in its strip, and `coarse` of the strip.
fn square(
    x: Arr<Complex<f32>, Square>,
    roots: Arr<Complex<f32>, Side>,
    fine: Arr<Complex<f32>, (Side, Wide)>,
    coarse: Arr<Complex<f32>, (Side, Strips)>,
) -> Arr<Complex<f32>, Square> {
    let columns: Arr<Complex<f32>, (Strips, Side, Wide)> = stack(|t: Idx<Strips>| {
        let done = transform(tabulate(|(i, c)| x.at((i, t, c))), roots);
        tabulate(|(k, c)| done.at((k, c)) * fine.at((k, c)) * coarse.at((k, t)))
    });
    let rows: Arr<Complex<f32>, (Strips, Side, Wide)> = stack(|t: Idx<Strips>| {
        let turned = tabulate(|(i, c): Pos<(Side, Wide)>| columns.at((i.outer(), Idx::flat(t, c), i.inner())));
        transform(turned, roots)
    });
    rows.permute_axes::<1, 0, 2>()
}

/// The same of two arrays, so that a call need not take pairs apart.
fn fft(
    re: Arr<f32, Square>,
    im: Arr<f32, Square>,
    roots: Arr<Complex<f32>, Side>,
    fine: Arr<Complex<f32>, (Side, Wide)>,
    coarse: Arr<Complex<f32>, (Side, Strips)>,
) -> (Arr<f32, Square>, Arr<f32, Square>) {
    let y = square(zip((re, im)).map(|(re, im)| Complex::new(re, im)), roots, fine, coarse);
    (y.map(|z| z.re), y.map(|z| z.im))
}

/// Roots of 1, by rows: number `i, j` is turned back by `i * j / n`.
fn turns(rows: usize, columns: usize, n: usize) -> Vec<Complex<f32>> {
    let turn = |p: usize| {
        let angle = -TAU * ((p / columns) * (p % columns) % n) as f64 / n as f64;
        Complex::new(angle.cos() as f32, angle.sin() as f32)
    };
    (0..rows * columns).map(turn).collect()
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = SIDE * SIDE;
    let re = &Slab::random(&bench.native, n, -1.0, 1.0, 1)[..];
    let im = &Slab::random(&bench.native, n, -1.0, 1.0, 2)[..];
    let x: Vec<Pair<f32>> = re.iter().zip(im).map(|(&re, &im)| Pair::new(re, im)).collect();

    let exact = FftPlanner::<f64>::new().plan_fft_forward(n);
    let mut expected: Vec<Pair<f64>> = x.iter().map(|z| Pair::new(f64::from(z.re), f64::from(z.im))).collect();
    exact.process(&mut expected);
    let parts = expected.iter().map(|z| z.re as f32).chain(expected.iter().map(|z| z.im as f32));
    let mut contest = Contest::new(bench, job, Expected::near(parts.collect(), 1e-4).or_within(5e-3));

    let f = compile(fft)?;
    let roots = Tensor::from_vec([SIDE], turns(SIDE, 2, SIDE).into_iter().skip(1).step_by(2).collect())?;
    let fine = Tensor::from_vec([SIDE, WIDE], turns(SIDE, WIDE, n))?;
    let coarse = Tensor::from_vec([SIDE, STRIPS], turns(SIDE, STRIPS, n / WIDE))?;
    let shape = [SIDE, STRIPS, WIDE];
    contest.ours(
        move || f.call((re, shape), (im, shape), &roots, &fine, &coarse),
        |(re, im)| Ok([re.to_vec()?, im.to_vec()?].concat()),
    );
    let theirs = FftPlanner::<f32>::new().plan_fft_forward(n);
    let mut scratch = vec![Pair::default(); theirs.get_immutable_scratch_len()];
    contest.entry(
        "rustfft",
        vec![Pair::default(); n],
        move |z| theirs.process_immutable_with_scratch(&x, z, &mut scratch),
        |z| Ok(z.iter().map(|z| z.re).chain(z.iter().map(|z| z.im)).collect()),
    );
    contest.measure()
}
