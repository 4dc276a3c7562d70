//! Black-Scholes call prices: arithmetic, with exp and ln.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{Native, from, to};
use ndarray::{ArrayView1, Zip};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N);

pub static JOBS: &[Job] = &[Job {
    name: "black_scholes",
    title: "Black-Scholes, 2^22",
    target: Some(0.9),
    run,
    source: || Ok(compile(black_scholes)?.source().to_string()),
}];

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;
const GRAIN: usize = 1 << 14;

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0
        - 0.398_942_3
            * (-l * l / 2.0).exp()
            * horner(k, [0.0, 0.319_381_53, -0.356_563_78, 1.781_477_9, -1.821_256, 1.330_274_5]);
    if x < 0.0 { 1.0 - w } else { w }
}

/// The prices.
pub fn black_scholes(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (RATE, VOLATILITY);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d2)
    })
}

/// Spots, strikes and years.
pub fn options(native: &Native, n: usize) -> [Slab; 3] {
    let slab = |low, high, seed| Slab::random(native, n, low, high, seed);
    [slab(10.0, 100.0, 1), slab(10.0, 100.0, 2), slab(0.2, 2.0, 3)]
}

/// The same on the host, in either precision.
macro_rules! price {
    ($F:ident, $s:expr, $x:expr, $t:expr) => {{
        let (s, x, t, r, v) = ($s, $x, $t, RATE as $F, VOLATILITY as $F);
        let normcdf = |x: $F| {
            let l = x.abs();
            let k = 1.0 / (1.0 + 0.2316419 * l);
            let q = k
                * (0.319_381_53
                    + k * (-0.356_563_782 + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
            let w = 1.0 - 0.398_942_28 * (-l * l / 2.0).exp() * q;
            if x < 0.0 { 1.0 - w } else { w }
        };
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d1 - v * t.sqrt())
    }};
}

/// One price, in plain Rust.
#[allow(clippy::excessive_precision)]
pub fn price(s: f32, x: f32, t: f32) -> f32 {
    price!(f32, s, x, t)
}

fn exact(s: f32, x: f32, t: f32) -> f32 {
    price!(f64, f64::from(s), f64::from(x), f64::from(t)) as f32
}

/// The prices in vector C, on all cores.
pub fn in_c(bench: &Bench, z: &mut [f32], [s, x, t]: [&[f32]; 3]) -> Result<(), Failure> {
    let n = z.len();
    let kernel = bench.native.kernel("black_scholes")?;
    kernel.run(&[to(z)], &[from(s), from(x), from(t)], &[n], &[RATE, VOLATILITY], n, GRAIN);
    Ok(())
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 22);
    let [s, x, t] = &options(&bench.native, n);
    let (s, x, t) = (&s[..], &x[..], &t[..]);
    let expected = (0..n).map(|i| exact(s[i], x[i], t[i])).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4).or_within(1e-4));
    let f = compile(black_scholes)?;
    contest.ours(move || f.call(s, x, t), |z| z.to_vec());
    for (name, kernel) in [("C", "black_scholes"), ("C-nt", "black_scholes_nt")] {
        let kernel = bench.native.kernel(kernel)?;
        let constants = [RATE, VOLATILITY];
        contest.fills(name, n, move |z| {
            kernel.run(&[to(z)], &[from(s), from(x), from(t)], &[n], &constants, n, GRAIN);
        });
    }
    contest.fills("rayon", n, |z| {
        let inputs = s.par_iter().zip(x).zip(t);
        z.par_iter_mut().zip(inputs).with_min_len(GRAIN).for_each(|(z, ((&s, &x), &t))| *z = price(s, x, t));
    });
    let (ss, xs, ts) = (ArrayView1::from(s), ArrayView1::from(x), ArrayView1::from(t));
    contest.fills("ndarray", n, move |z| {
        let z = ndarray::ArrayViewMut1::from(z);
        Zip::from(z).and(ss).and(xs).and(ts).par_for_each(|z, &s, &x, &t| *z = price(s, x, t));
    });
    #[cfg(feature = "candle")]
    crate::candle::black_scholes(&mut contest, s, x, t, RATE, VOLATILITY)?;
    contest.measure()
}
