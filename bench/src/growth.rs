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

/// Sizes are powers of two.
const EXPONENTS: std::ops::RangeInclusive<u32> = 4..=26;

/// Saxpy and sum, ours and in C.
pub fn measure(bench: &Bench) -> Result<Vec<Curve>, Failure> {
    let last = if bench.quick { 16 } else { *EXPONENTS.end() };
    let most = 1usize << last;
    let (x, y) = (Slab::random(&bench.native, most, 0.0, 1.0, 1), Slab::random(&bench.native, most, 0.0, 1.0, 2));
    let mut z = Slab::zeros(&bench.native, most);
    let (ours_saxpy, ours_sum) = (compile(saxpy)?, compile(|x: Arr<f32, N>| x.sum())?);
    let (c_saxpy, c_sum) = (bench.native.kernel("saxpy")?, bench.native.kernel("sum")?);
    let names = ["saxpy, ours", "saxpy, C", "sum, ours", "sum, C"];
    let mut curves = names.map(|name| Curve { name: name.to_string(), points: vec![] });
    for exponent in *EXPONENTS.start()..=last {
        let n = 1usize << exponent;
        let (x, y, z) = (&x[..n], &y[..n], &mut z[..n]);
        let mut c_total = chunked_sum(c_sum, vec![x], n);
        let sink = |failed: bool| assert!(!failed, "what runs for one size runs for all");
        let mut runs: [Box<dyn FnMut() + '_>; 4] = [
            Box::new(|| sink(ours_saxpy.call(1.5, x, y).is_err())),
            Box::new(|| c_saxpy.run(&[to(z)], &[from(x), from(y)], &[n], &[1.5], n, GRAIN)),
            Box::new(|| sink(ours_sum.call(x).is_err())),
            Box::new(|| sink(c_total().is_nan())),
        ];
        // Enough runs in a row for the clock; enough repetitions for the noise.
        let (batch, repetitions) = ((1 << 14 >> exponent.min(14)).max(1), if bench.quick { 1 } else { 15 });
        let mut times = [const { vec![] }; 4];
        for _ in 0..=repetitions {
            for (run, times) in runs.iter_mut().zip(&mut times) {
                run();
                let (time, ()) = seconds(|| (0..batch).for_each(|_| run()));
                times.push(time / batch as f64 / n as f64);
            }
        }
        for (curve, times) in curves.iter_mut().zip(times) {
            curve.points.push((n, Timing::of(&curve.name, times).median));
        }
    }
    Ok(curves.into())
}
