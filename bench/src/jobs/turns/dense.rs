//! Turns over a dense matrix: LU with pivots, Cholesky, shortest paths.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use slyz::prelude::*;

axis!(N);

type Square = Arr<f32, (N, N)>;

pub static JOBS: &[Job] = &[
    Job {
        name: "lu",
        title: "LU with pivots, 1024²",
        target: None,
        run: run_lu,
        source: || Ok(compile(lu)?.source().to_string()),
    },
    Job {
        name: "cholesky",
        title: "Cholesky, 1024²",
        target: None,
        run: run_cholesky,
        source: || Ok(compile(cholesky)?.source().to_string()),
    },
    Job {
        name: "floyd_warshall",
        title: "shortest paths, 512",
        target: None,
        run: run_paths,
        source: || Ok(compile(shortest_paths)?.source().to_string()),
    },
];

/// The matrix with two rows in each other's place.
fn swap_rows(a: Square, p: Idx<N>, q: Idx<N>) -> Square {
    a.scatter_last(|(which, j): Pos<(Fix<2>, N)>| {
        let first = which.i64().eq(0);
        ((first.select(p, q), j), a.at((first.select(q, p), j)))
    })
}

/// Both factors in one matrix, rows permuted.
fn lu(a: Square) -> Square {
    for_each::<N, _>(a, |k, a: Square| {
        let below = tabulate(|i: Idx<N>| i.ge(k).select(a.at((i, k)).abs(), -1.0));
        let a = swap_rows(a, k, below.argmax());
        let column: Arr<f32, N> = tabulate(|i: Idx<N>| i.gt(k).select(a.at((i, k)) / a.at((k, k)), 0.0));
        tabulate(|(i, j)| {
            let new = j.eq(k).select(column.at(i), a.at((i, j)) - column.at(i) * a.at((k, j)));
            (i.gt(k) & j.ge(k)).select(new, a.at((i, j)))
        })
    })
}

fn plain_lu(a: &mut [f32], n: usize) {
    for k in 0..n {
        let pivot = (k..n).max_by(|&p, &q| a[p * n + k].abs().total_cmp(&a[q * n + k].abs()).then(q.cmp(&p)));
        let pivot = pivot.unwrap_or(k);
        if pivot != k {
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        }
        let (top, bottom) = a.split_at_mut((k + 1) * n);
        let row = &top[k * n..];
        for line in bottom.chunks_mut(n) {
            let factor = line[k] / row[k];
            line[k] = factor;
            line[k + 1..].iter_mut().zip(&row[k + 1..]).for_each(|(a, r)| *a -= factor * r);
        }
    }
}

fn run_lu(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let x = &Slab::random(&bench.native, n * n, -1.0, 1.0, 1)[..];
    let mut expected = x.to_vec();
    plain_lu(&mut expected, n);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-3));
    let f = compile(lu)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    contest.fills("plain", n * n, move |z| {
        z.copy_from_slice(x);
        plain_lu(z, n);
    });
    contest.measure()
}

/// The lower factor; what is above the diagonal stays.
fn cholesky(a: Square) -> Square {
    for_each::<N, _>(a, |k, a: Square| {
        let root = a.at((k, k)).sqrt();
        let column: Arr<f32, N> = tabulate(|i: Idx<N>| {
            let below = i.gt(k).select(a.at((i, k)) / root, 0.0);
            i.eq(k).select(root, below)
        });
        tabulate(|(i, j)| {
            let new = j.eq(k).select(column.at(i), a.at((i, j)) - column.at(i) * column.at(j));
            (i.ge(k) & j.ge(k) & j.le(i)).select(new, a.at((i, j)))
        })
    })
}

fn plain_cholesky(a: &mut [f32], n: usize) {
    let mut column = vec![0f32; n];
    for k in 0..n {
        let root = a[k * n + k].sqrt();
        a[k * n + k] = root;
        for i in k + 1..n {
            a[i * n + k] /= root;
            column[i] = a[i * n + k];
        }
        for i in k + 1..n {
            let factor = column[i];
            a[i * n + k + 1..=i * n + i].iter_mut().zip(&column[k + 1..]).for_each(|(a, c)| *a -= factor * c);
        }
    }
}

fn run_cholesky(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(1024);
    let mut x = Slab::random(&bench.native, n * n, 0.0, 1.0, 1);
    for i in 0..n {
        for j in 0..i {
            x[j * n + i] = x[i * n + j];
        }
        x[i * n + i] = n as f32;
    }
    let x = &x[..];
    let mut expected = x.to_vec();
    plain_cholesky(&mut expected, n);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-3).or_within(1e-4));
    let f = compile(cholesky)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    contest.fills("plain", n * n, move |z| {
        z.copy_from_slice(x);
        plain_cholesky(z, n);
    });
    contest.measure()
}

fn shortest_paths(d: Square) -> Square {
    for_each::<N, _>(d, |k, d: Square| tabulate(|(i, j)| d.at((i, j)).min(d.at((i, k)) + d.at((k, j)))))
}

fn plain_paths(d: &mut [f32], n: usize) {
    let mut row = vec![0f32; n];
    for k in 0..n {
        row.copy_from_slice(&d[k * n..][..n]);
        for line in d.chunks_mut(n) {
            let first = line[k];
            line.iter_mut().zip(&row).for_each(|(d, r)| *d = d.min(first + r));
        }
    }
}

fn run_paths(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(512);
    let mut x = Slab::random(&bench.native, n * n, 0.0, 1.0, 1);
    (0..n).for_each(|i| x[i * n + i] = 0.0);
    let x = &x[..];
    let mut expected = x.to_vec();
    plain_paths(&mut expected, n);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-4));
    let f = compile(shortest_paths)?;
    contest.ours(move || f.call((x, [n, n])), |z| z.to_vec());
    contest.fills("plain", n * n, move |z| {
        z.copy_from_slice(x);
        plain_paths(z, n);
    });
    contest.measure()
}
