//! Turns with little to do: what a turn itself costs.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use slyz::prelude::*;

axis!(N);

const LENGTH: usize = 16;

pub static JOBS: &[Job] = &[Job {
    name: "small_turns",
    title: "100,000 turns of 16 elements",
    target: None,
    run,
    source: || Ok(compile(smooth)?.source().to_string()),
}];

fn smooth(x: Arr<f32, N>, turns: Exp<u32>) -> Arr<f32, N> {
    iterate(turns, x, |_, x: Arr<f32, N>| x.stencil(Border::Clamp, |x| x(0) + 0.25 * (x(-1) - 2.0 * x(0) + x(1))))
}

fn plain(z: &mut [f32], turns: usize) {
    let mut next = [0f32; LENGTH];
    for _ in 0..turns {
        for i in 0..LENGTH {
            let left = z[i.saturating_sub(1)];
            let right = z[(i + 1).min(LENGTH - 1)];
            next[i] = z[i] + 0.25 * (left - 2.0 * z[i] + right);
        }
        z.copy_from_slice(&next);
    }
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let turns = if bench.quick { 1_000 } else { 100_000 };
    let x = &Slab::random(&bench.native, LENGTH, 0.0, 1.0, 1)[..];
    let mut expected = x.to_vec();
    plain(&mut expected, turns);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5));
    let f = compile(smooth)?;
    contest.ours(move || f.call(x, turns as u32), |z| z.to_vec());
    contest.fills("plain", LENGTH, move |z| {
        z.copy_from_slice(x);
        plain(z, turns);
    });
    contest.measure()
}
