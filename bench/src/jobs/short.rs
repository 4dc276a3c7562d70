//! Short folds, and reads through positions: what a lane does by itself.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use slyz::prelude::*;

axis!(N, M, Rows);

pub static JOBS: &[Job] = &[
    Job {
        name: "short_rows",
        title: "sums of 100,000 rows of 3",
        target: None,
        run: rows_of_three,
        source: || Ok(compile(row_sums)?.source().to_string()),
    },
    Job {
        name: "short_fixed",
        title: "sums of 100,000 rows of `Fix<5>`",
        target: None,
        run: rows_of_five,
        source: || Ok(compile(sums_of_five)?.source().to_string()),
    },
    Job {
        name: "short_argmin",
        title: "smallest of 8 in 100,000 rows",
        target: None,
        run: smallest_of_eight,
        source: || Ok(compile(smallest)?.source().to_string()),
    },
    Job {
        name: "gather",
        title: "gather of 2^22 by `At`, resident",
        target: None,
        run: gathers,
        source: || Ok(compile(gather)?.source().to_string()),
    },
    Job {
        name: "csr",
        title: "sums of segments, 10 a row, 100,000 rows",
        target: Some(1.5),
        run: |bench, job| segments(bench, job, regular),
        source: || Ok(compile(segment_sums)?.source().to_string()),
    },
    Job {
        name: "csr_random",
        title: "the same, lengths that nobody can foresee",
        target: Some(1.5),
        run: |bench, job| segments(bench, job, random),
        source: || Ok(compile(segment_sums)?.source().to_string()),
    },
    Job {
        name: "csr_product",
        title: "sparse matrix × vector by `segmented_fold`, 10 a row, 100,000 rows",
        target: Some(1.5),
        run: products,
        source: || Ok(compile(product)?.source().to_string()),
    },
];

const ROWS: usize = 100_000;

fn row_sums(x: Arr<f32, (N, M)>) -> Arr<f32, N> {
    x.over(M).sum()
}

fn sums_of_five(x: Arr<f32, (N, Fix<5>)>) -> Arr<f32, N> {
    x.over(Fix::<5>).sum()
}

fn smallest(x: Arr<f32, (N, M)>) -> Arr<f32, N> {
    x.over(M).argmin().map(|j| j.i64().cast::<f32>())
}

fn gather(x: Arr<f32, M>, at: Arr<At<M>, N>) -> Arr<f32, N> {
    at.map(|j| x.at(j))
}

fn gather_by_clamp(x: Arr<f32, M>, at: Arr<i64, N>) -> Arr<f32, N> {
    at.map(|j| x.at(Near::new(j).clamp()))
}

/// Rows of a sparse matrix: row `r` has the elements from `starts[r]` to `starts[r + 1]`.
fn segment_sums(x: Arr<f32, M>, starts: Arr<i64, N>) -> Arr<f32, Rows> {
    tabulate(|r: Idx<Rows>| {
        let from = starts.at(Near::new(r.i64()).clamp());
        let to = starts.at(Near::new(r.i64() + 1).clamp());
        let (_, sum) =
            repeat_while((from, 0f32), |(k, _)| k.lt(to), |(k, sum)| (k + 1, sum + x.at(Near::new(k).clamp())));
        sum
    })
}

fn product(
    starts: Arr<u32, Either<Rows, Fix<1>>>,
    column: Arr<At<M>, N>,
    value: Arr<f32, N>,
    x: Arr<f32, M>,
) -> Arr<f32, Rows> {
    tabulate(|k: Idx<N>| value.at(k) * x.at(column.at(k))).segmented_fold(Sum, Segments::by_offsets(starts))
}

fn plain_rows<'a>(x: &'a [f32], width: usize) -> impl Fn(&mut [f32]) + 'a {
    move |z| x.chunks(width).zip(z).for_each(|(row, z)| *z = row.iter().sum())
}

fn sums(x: &[f32], width: usize) -> Expected {
    let mut expected = vec![0.0; x.len() / width];
    plain_rows(x, width)(&mut expected);
    Expected::near(expected, 1e-5).or_within(1e-5)
}

fn rows_of_three(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(ROWS);
    let x = &Slab::random(&bench.native, 3 * n, -1.0, 1.0, 1)[..];
    let mut contest = Contest::new(bench, job, sums(x, 3));
    let f = compile(row_sums)?;
    contest.ours(move || f.call((x, [n, 3])), |z| z.to_vec());
    contest.fills("plain", n, plain_rows(x, 3));
    contest.measure()
}

fn rows_of_five(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(ROWS);
    let x = &Slab::random(&bench.native, 5 * n, -1.0, 1.0, 1)[..];
    let mut contest = Contest::new(bench, job, sums(x, 5));
    let f = compile(sums_of_five)?;
    contest.ours(move || f.call(x), |z| z.to_vec());
    contest.fills("plain", n, plain_rows(x, 5));
    contest.measure()
}

fn smallest_of_eight(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(ROWS);
    let x = &Slab::random(&bench.native, 8 * n, -1.0, 1.0, 1)[..];
    let plain = |z: &mut [f32]| {
        for (row, z) in x.chunks(8).zip(z) {
            let mut best = 0;
            for j in 1..8 {
                if row[j] < row[best] {
                    best = j;
                }
            }
            *z = best as f32;
        }
    };
    let mut expected = vec![0.0; n];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(smallest)?;
    contest.ours(move || f.call((x, [n, 8])), |z| z.to_vec());
    contest.fills("plain", n, plain);
    contest.measure()
}

/// Places all over an array.
fn places(count: usize, extent: usize) -> Vec<usize> {
    (0..count).map(|k| k.wrapping_mul(2_654_435_761) % extent).collect()
}

fn gathers(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(1 << 22);
    let extent = 1 << 16;
    let x = &Slab::random(&bench.native, extent, -1.0, 1.0, 1)[..];
    let places = &places(n, extent)[..];
    let expected = places.iter().map(|&p| x[p]).collect();
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(gather)?;
    let at = Tensor::<At<M>, N>::from_vec([n], places.iter().map(|&p| At::new(p as u64)).collect())?;
    contest.ours(move || f.call(x, &at), |z| z.to_vec());
    let f = compile(gather_by_clamp)?;
    let at = Tensor::<i64, N>::from_vec([n], places.iter().map(|&p| p as i64).collect())?;
    let empty: Tensor<f32, N> = Tensor::from_vec([0], vec![])?;
    contest.entry(
        "clamped",
        Ok(empty),
        move |z| *z = f.call(x, &at),
        |z| z.as_ref().map_or(Ok(vec![]), |z| Ok(z.to_vec()?)),
    );
    contest.fills("plain", n, move |z| z.iter_mut().zip(places).for_each(|(z, &p)| *z = x[p]));
    contest.measure()
}

/// From 0 to 20, in a pattern that a branch predictor learns.
fn regular(row: usize) -> usize {
    (row.wrapping_mul(2_654_435_761) >> 7) % 21
}

/// From 0 to 20, by the finalizer of SplitMix64.
fn random(row: usize) -> usize {
    let mut bits = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) % 21) as usize
}

/// Where the segments of some lengths start, and where the last one ends.
fn starts_of(rows: usize, length: fn(usize) -> usize) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for row in 0..rows {
        end += length(row);
        starts.push(end);
    }
    starts
}

fn segments(bench: &Bench, job: &'static Job, length: fn(usize) -> usize) -> Result<Row, Failure> {
    let rows = bench.length(ROWS);
    let starts: Vec<i64> = starts_of(rows, length).into_iter().map(|start| start as i64).collect();
    let len = starts[rows] as usize;
    let x = &Slab::random(&bench.native, len, -1.0, 1.0, 1)[..];
    let starts = &starts[..];
    let plain = |z: &mut [f32]| {
        for (ends, z) in starts.windows(2).zip(z) {
            *z = x[ends[0] as usize..ends[1] as usize].iter().sum();
        }
    };
    let mut expected = vec![0.0; rows];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-5).or_within(1e-5));
    let f = compile(segment_sums)?;
    let f = f.size::<Rows>(rows);
    contest.ours(move || f.call(x, starts), |z| z.to_vec());
    contest.fills("plain", rows, plain);
    contest.measure()
}

fn products(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let rows = bench.length(ROWS);
    let width = rows;
    let starts = starts_of(rows, random);
    let len = starts[rows];
    let value = &Slab::random(&bench.native, len, -1.0, 1.0, 1)[..];
    let x = &Slab::random(&bench.native, width, -1.0, 1.0, 2)[..];
    let columns = places(len, width);
    let plain = |z: &mut [f32]| {
        for (ends, z) in starts.windows(2).zip(z) {
            let entries = ends[0]..ends[1];
            *z = value[entries.clone()].iter().zip(&columns[entries]).map(|(v, &column)| v * x[column]).sum();
        }
    };
    let mut expected = vec![0.0; rows];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4).or_within(1e-5));
    let f = compile(product)?;
    let offsets: Vec<u32> = starts.iter().map(|&start| start as u32).collect();
    let at = Tensor::<At<M>, N>::from_vec([len], columns.iter().map(|&p| At::new(p as u64)).collect())?;
    contest.ours(move || f.call(&offsets, &at, value, x), |z| z.to_vec());
    contest.fills("plain", rows, plain);
    contest.measure()
}
