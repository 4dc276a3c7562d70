//! Words of a table that lies by columns: an argument that stays the same is put in the order of its readers, once.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use rayon::prelude::*;
use slyz::prelude::*;
use slyz::{Options, compile_with};

axis!(Word, Wide, N);

pub static JOBS: &[Job] = &[Job {
    name: "words",
    title: "words of a table by columns, 2^17",
    target: Some(0.9),
    run,
    source: || Ok(compile(words)?.source().to_string()),
}];

/// Numbers of a word.
const WIDE: usize = 64;

fn words(table: Arr<f32, (Wide, Word)>, which: Arr<At<Word>, N>) -> Arr<f32, (N, Wide)> {
    tabulate(|(i, d): (Idx<N>, Idx<Wide>)| table.at((d, which.at(i))))
}

fn run(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1 << 17);
    let count = (n / 2).max(1);
    let table = Slab::random(&bench.native, WIDE * count, -1.0, 1.0, 1);
    let table = &table[..];
    let places: Vec<usize> = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).map(|k| k % count).collect();
    let places = &places[..];
    let across = move |z: &mut [f32]| {
        z.par_chunks_mut(WIDE).zip(places).for_each(|(z, &word)| {
            z.iter_mut().enumerate().for_each(|(d, z)| *z = table[d * count + word]);
        });
    };
    let mut expected = vec![0f32; n * WIDE];
    across(&mut expected);
    let mut turned = vec![0f32; WIDE * count];
    for (d, column) in table.chunks(count).enumerate() {
        column.iter().enumerate().for_each(|(word, &x)| turned[word * WIDE + d] = x);
    }
    let turned = &turned[..];
    let held = Tensor::<f32, (Wide, Word)>::from_vec([WIDE, count], table.to_vec())?;
    let which = Tensor::<At<Word>, N>::from_vec([n], places.iter().map(|&k| At::new(k as u64)).collect())?;
    let (f, g) = (compile_with(words, &Options::new().weights([1]))?, compile(words)?);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let (own, own_which) = (held.clone(), which.clone());
    contest.ours(move || f.call(&own, &own_which), |z| z.to_vec());
    contest.ours_as("as it lies", move || g.call(&held, &which), |z| z.to_vec());
    contest.fills("rayon, as it lies", n * WIDE, across);
    contest.fills("rayon, turned before", n * WIDE, move |z| {
        z.par_chunks_mut(WIDE).zip(places).for_each(|(z, &word)| z.copy_from_slice(&turned[word * WIDE..][..WIDE]));
    });
    contest.measure()
}
