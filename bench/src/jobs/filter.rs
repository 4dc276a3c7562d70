//! The elements above one half, in order: half of them.

use super::CHUNK;
use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use crate::native::{from, to};
use rayon::prelude::*;
use slyz::prelude::*;

axis!(N, Kept);

pub static JOBS: &[Job] = &[Job {
    name: "filter",
    title: "filter, half of 2^24 kept",
    target: None,
    run,
    source: || Ok(compile(filter)?.source().to_string()),
}];

fn filter(x: Arr<f32, N>) -> Arr<f32, Kept> {
    x.filter::<Kept>(|v| v.gt(0.5))
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 24);
    let x = &Slab::random(&bench.native, n, 0.0, 1.0, 1)[..];
    let expected: Vec<f32> = x.iter().copied().filter(|&x| x > 0.5).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(filter)?;
    contest.ours(move || f.call(x), |z| z.to_vec());
    let (count, write) = (bench.native.kernel("filter_count")?, bench.native.kernel("filter_write")?);
    let chunks = n.div_ceil(CHUNK);
    let mut starts = vec![0i64; chunks];
    contest.entry(
        "C",
        (Slab::zeros(&bench.native, n), 0),
        move |(z, kept)| {
            count.run(&[to(&mut starts)], &[from(x)], &[n, CHUNK], &[0.5], chunks, 8);
            let mut total = 0;
            for start in &mut starts {
                (*start, total) = (total, total + *start);
            }
            *kept = total as usize;
            write.run(&[to(z)], &[from(x), from(&starts)], &[n, CHUNK, *kept], &[0.5], chunks, 8);
        },
        |(z, kept)| Ok(z[..*kept].to_vec()),
    );
    contest.entry(
        "rayon",
        vec![],
        move |z| {
            // What one writes; it makes a vector for each piece and then one of all.
            z.clear();
            z.par_extend(x.par_iter().copied().filter(|&x| x > 0.5));
        },
        |z| Ok(z.clone()),
    );
    contest.measure()
}
