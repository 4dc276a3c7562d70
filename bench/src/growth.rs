//! Time per element against size: what a call costs, when threads and caches begin to matter, and what memory gives.

use crate::contest::Failure;
use crate::data::Slab;
use crate::job::Bench;
use crate::jobs::{GRAIN, chunked_sum, saxpy};
use crate::native::{from, to};
use crate::timing::{Timing, seconds};
use slyz::prelude::*;

axis!(N);

/// Times per element of one contestant, by size.
pub struct Curve {
    /// Which job and whose.
    pub name: String,
    /// Size and seconds per element.
    pub points: Vec<(usize, f64)>,
}

/// Who is measured at all sizes.
pub struct Grower<'a> {
    /// What the curve is called.
    pub name: &'static str,
    /// Does the work for so many elements.
    pub run: Box<dyn FnMut(usize) -> Result<(), Failure> + 'a>,
}

impl<'a> Grower<'a> {
    /// Under a name.
    pub fn new<T>(name: &'static str, mut run: impl FnMut(usize) -> Result<T, Failure> + 'a) -> Grower<'a> {
        let run = move |n| {
            std::hint::black_box(run(n)?);
            Ok(())
        };
        Grower { name, run: Box::new(run) }
    }
}

/// Sizes are powers of two.
pub const FIRST: u32 = 4;

/// The largest, of those that are wanted.
pub fn last(quick: bool, wanted: u32) -> u32 {
    if quick { wanted.min(16) } else { wanted }
}

/// Their times at all sizes up to 2^`last`, taken in turns.
pub fn curves(quick: bool, last: u32, growers: &mut [Grower]) -> Result<Vec<Curve>, Failure> {
    let curve = |grower: &Grower| Curve { name: grower.name.to_string(), points: vec![] };
    let mut curves: Vec<Curve> = growers.iter().map(curve).collect();
    for exponent in FIRST..=last {
        let n = 1usize << exponent;
        // Enough runs in a row for the clock; enough repetitions for the noise.
        let batch = (1 << 14 >> exponent.min(14)).max(1);
        let repetitions = if quick { 1 } else { 15 };
        let mut times = vec![vec![]; growers.len()];
        for _ in 0..=repetitions {
            for (grower, times) in growers.iter_mut().zip(&mut times) {
                (grower.run)(n)?;
                let (time, done) = seconds(|| (0..batch).try_for_each(|_| (grower.run)(n)));
                done?;
                times.push(time / batch as f64 / n as f64);
            }
        }
        for (curve, times) in curves.iter_mut().zip(times) {
            curve.points.push((n, Timing::of(&curve.name, times).median));
        }
    }
    Ok(curves)
}

/// Saxpy and sum, ours and in C.
pub fn measure(bench: &Bench) -> Result<Vec<Curve>, Failure> {
    let last = last(bench.quick, 26);
    let x = &Slab::random(&bench.native, 1 << last, 0.0, 1.0, 1)[..];
    let y = &Slab::random(&bench.native, 1 << last, 0.0, 1.0, 2)[..];
    let mut z = Slab::zeros(&bench.native, 1 << last);
    let ours_saxpy = compile(saxpy)?;
    let ours_sum = compile(|x: Arr<f32, N>| x.sum())?;
    let c_saxpy = bench.native.kernel("saxpy")?;
    let c_sum = bench.native.kernel("sum")?;
    let mut growers = [
        Grower::new("saxpy, ours", |n| Ok(ours_saxpy.call(1.5, &x[..n], &y[..n])?)),
        Grower::new("saxpy, C", |n| {
            c_saxpy.run(&[to(&mut z[..n])], &[from(&x[..n]), from(&y[..n])], &[n], &[1.5], n, GRAIN);
            Ok(())
        }),
        Grower::new("sum, ours", |n| Ok(ours_sum.call(&x[..n])?)),
        Grower::new("sum, C", |n| Ok(chunked_sum(c_sum, vec![&x[..n]], n)())),
    ];
    curves(bench.quick, last, &mut growers)
}
