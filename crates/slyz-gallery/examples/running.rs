//! Running mean, deviation and maximum of a series, all from one scan with a monoid of one's own.
//!
//! `cargo run --release --example running -- --out running.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;

axis!(N, Rows, Cols);

/// Mean, standard deviation and maximum of all up to each element. Chan's formula joins the statistics of two stretches.
fn running(x: Arr<f32, N>) -> Arr<(f32, f32, f32), N> {
    let join = monoid((0f32, 0f32, 0f32, f32::NEG_INFINITY), |(n, a, s, top), (m, b, t, high)| {
        let (k, d) = (n + m, b - a);
        let w = k.gt(0.0).select(m / k, 0.0);
        (k, a + d * w, s + t + d * d * n * w, top.max(high))
    });
    x.map(|x| (1f32, x, 0f32, x)).scan(join).map(|(n, mean, s, top)| (mean, (s / n).sqrt(), top))
}

/// The series as a band from its lowest to its highest value per column, before mean ± deviation and maximum.
fn chart(x: Arr<f32, N>, stats: Arr<(f32, f32, f32), N>) -> Arr<[u8; 3], (Rows, Cols)> {
    let (low, high) = (x.min(), x.max());
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent());
    let first = |j: Exp<i64>| Near::<N>::new(j * Idx::<N>::extent() / cols).clamp();
    // What a column shows, once for all its pixels.
    let band = tabulate(|j: Idx<Cols>| {
        let (from, to) = (first(j.i64()).i64(), first(j.i64() + 1).i64());
        let count = (to - from + 1).cast::<u32>();
        iterate(count, (f32::INFINITY, f32::NEG_INFINITY), |k, (a, b): (Exp<f32>, Exp<f32>)| {
            let v = x.at(Near::<N>::new(from + k.cast::<i64>()).clamp());
            (a.min(v), b.max(v))
        })
    });
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let height = |v: Exp<f32>| (0.95 - 0.9 * (v - low) / (high - low)) * rows;
        let y = i.to::<f32>() + 0.5;
        let (mean, deviation, top) = stats.at(first(j.i64()));
        let (a, b) = band.at(j);
        // How much of the pixel lies between two heights.
        let cover = |top: Exp<f32>, bottom: Exp<f32>| ((bottom - y + 0.5).min(y - top + 0.5)).clamp(0.0, 1.0);
        let line = |v: Exp<f32>| cover(height(v) - 1.0, height(v) + 1.0);
        let shade = cover(height(mean + deviation), height(mean - deviation));
        let series = cover(height(b) - 0.5, height(a) + 0.5);
        let over =
            |under: [Exp<f32>; 3], ink: [f32; 3], k: Exp<f32>| [0, 1, 2].map(|c| under[c] * (1.0 - k) + ink[c] * k);
        let mut colour = [0.985f32, 0.98, 0.965].map(lit);
        colour = over(colour, [0.80, 0.88, 0.93], shade);
        colour = over(colour, [0.20, 0.24, 0.30], series * 0.75);
        colour = over(colour, [0.05, 0.45, 0.70], line(mean));
        colour = over(colour, [0.85, 0.33, 0.15], line(top));
        colour.map(|c| (c * 255.0 + 0.5).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let f = slyz::compile(running)?;
    if asked_about(&f) {
        return Ok(());
    }
    let x = walk(200_000);
    let stats = f.call(&x)?;
    check(&x, &stats.to_vec()?);
    let (height, width) = (300, 720);
    let draw = slyz::compile(chart)?.size::<Rows>(height).size::<Cols>(width);
    save("running", [height, width], &draw.call(&x, &stats)?.to_vec()?)
}

/// A random walk that is pulled back a little.
fn walk(n: usize) -> Vec<f32> {
    let (mut seed, mut value) = (29u32, 0f32);
    (0..n)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            value = value * 0.99998 + (seed >> 8) as f32 / 16_777_216.0 - 0.5;
            100.0 + value
        })
        .collect()
}

/// The definitions, in double precision.
fn check(x: &[f32], stats: &[(f32, f32, f32)]) {
    let (mut sum, mut squares, mut top) = (0f64, 0f64, f32::NEG_INFINITY);
    for (i, (&v, &(mean, deviation, high))) in x.iter().zip(stats).enumerate() {
        let (n, v64) = ((i + 1) as f64, f64::from(v) - 100.0);
        (sum, squares, top) = (sum + v64, squares + v64 * v64, top.max(v));
        let exact = (100.0 + sum / n, (squares / n - (sum / n).powi(2)).max(0.0).sqrt());
        let off = (f64::from(mean) - exact.0).abs().max((f64::from(deviation) - exact.1).abs());
        assert!(off < 0.01 && high == top, "after {i}: {mean} ± {deviation}, at most {high}; exactly {exact:?}, {top}");
    }
    println!("{} prefixes agree with their definitions", x.len());
}
