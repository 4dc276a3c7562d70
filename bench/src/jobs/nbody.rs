//! Accelerations of bodies that attract each other: all pairs, softened.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N);

pub static JOBS: &[Job] = &[Job {
    name: "nbody",
    title: "n-body, 4096",
    target: Some(0.9),
    run,
    source: || Ok(compile(accelerations)?.source().to_string()),
}];

const SOFTENING: f32 = 1e-3;

pub type Body = (f32, f32, f32);

/// The accelerations of all.
pub fn accelerations(x: Arr<f32, N>, y: Arr<f32, N>, z: Arr<f32, N>, mass: Arr<f32, N>) -> Arr<Body, N> {
    tabulate(|i: Idx<N>| {
        let add = monoid((0f32, 0f32, 0f32), |(a, b, c), (d, e, f)| (a + d, b + e, c + f)).commutative();
        fold(add, |j: Idx<N>| {
            let (dx, dy, dz) = (x.at(j) - x.at(i), y.at(j) - y.at(i), z.at(j) - z.at(i));
            let q = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, lit(SOFTENING)))).rsqrt();
            let f = mass.at(j) * q * q * q;
            (dx * f, dy * f, dz * f)
        })
    })
}

/// The acceleration of body `i`, in either precision.
macro_rules! acceleration {
    ($F:ident, $x:expr, $y:expr, $z:expr, $mass:expr, $i:expr) => {{
        let (x, y, z, mass, i) = ($x, $y, $z, $mass, $i);
        let mut sums = [0 as $F; 3];
        for j in 0..x.len() {
            let d = [(x[j] - x[i]) as $F, (y[j] - y[i]) as $F, (z[j] - z[i]) as $F];
            let q = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING as $F).sqrt();
            let f = mass[j] as $F * q * q * q;
            sums.iter_mut().zip(d).for_each(|(sum, d)| *sum += d * f);
        }
        sums.map(|sum| sum as f32)
    }};
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(4096);
    let slab = |low, seed| Slab::random(&bench.native, n, low, 1.0, seed);
    let (x, y, z, mass) = (&slab(-1.0, 1)[..], &slab(-1.0, 2)[..], &slab(-1.0, 3)[..], &slab(0.0, 4)[..]);
    let exact: Vec<[f32; 3]> = (0..n).into_par_iter().map(|i| acceleration!(f64, x, y, z, mass, i)).collect();
    let expected = (0..3).flat_map(|k| exact.iter().map(move |a| a[k])).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(0.05));
    let f = compile(accelerations)?;
    contest.ours(
        move || f.call(x, y, z, mass),
        |a| {
            let a = a.to_vec()?;
            let coordinates: [fn(&Body) -> f32; 3] = [|a| a.0, |a| a.1, |a| a.2];
            Ok(coordinates.iter().flat_map(|coordinate| a.iter().map(coordinate)).collect())
        },
    );
    let kernel = bench.native.kernel("nbody")?;
    contest.fills("C", 3 * n, move |a| {
        let (ax, rest) = a.split_at_mut(n);
        let (ay, az) = rest.split_at_mut(n);
        kernel.run(&[to(ax), to(ay), to(az)], &[from(x), from(y), from(z), from(mass)], &[n], &[SOFTENING], n, 128);
    });
    contest.fills("rayon", 3 * n, move |a| {
        let (ax, rest) = a.split_at_mut(n);
        let (ay, az) = rest.split_at_mut(n);
        let outputs = ax.par_iter_mut().zip(ay).zip(az).enumerate();
        outputs.with_min_len(16).for_each(|(i, ((ax, ay), az))| {
            [*ax, *ay, *az] = acceleration!(f32, x, y, z, mass, i);
        });
    });
    contest.measure()
}
