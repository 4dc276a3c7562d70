//! Tables that are filled in an order: alignment and folding of sequences, the price of options.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use slyz::prelude::*;

axis!(N, D, Options);

pub static JOBS: &[Job] = &[
    Job {
        name: "needleman_wunsch",
        title: "Needleman-Wunsch, 2048²",
        target: None,
        run: run_alignment,
        source: || Ok(compile(alignment)?.source().to_string()),
    },
    Job {
        name: "nussinov",
        title: "Nussinov, 512",
        target: None,
        run: run_folding,
        source: || Ok(compile(folding)?.source().to_string()),
    },
    Job {
        name: "binomial",
        title: "binomial lattice, 256 options of 4096 steps",
        target: None,
        run: run_binomial,
        source: || Ok(compile(binomial)?.source().to_string()),
    },
];

const GAP: f32 = 1.0;

/// The diagonals of the table of scores, `D` of them: `[d, i]` is the score of `i` letters of one and `d - i` of the other.
fn alignment(a: Arr<f32, N>, b: Arr<f32, N>) -> Arr<f32, (D, N)> {
    type Diagonal = Arr<f32, N>;
    let table: Arr<f32, (D, N)> = fill(0.0);
    let none: Diagonal = fill(0.0);
    let (table, ..) =
        for_each::<D, _>((table, none, none), |d, (table, before, last): (Arr<f32, (D, N)>, Diagonal, Diagonal)| {
            let now: Diagonal = tabulate(|i: Idx<N>| {
                let j = d.i64() - i.i64();
                let same = a.at((i - 1).clamp()).eq(b.at(Near::<N>::new(j - 1).clamp()));
                let step = before.at((i - 1).clamp()) + same.select(1.0, -1.0);
                let gap = last.at((i - 1).clamp()).max(last.at(i)) - GAP;
                let inner = step.max(gap);
                let edge = -GAP * d.to::<f32>();
                (i.i64().eq(0) | j.le(0)).select(edge, inner)
            });
            (table.with_row(d, now), last, now)
        });
    table
}

fn run_alignment(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(2048);
    let letters =
        |seed| -> Vec<f32> { Slab::random(&bench.native, n, 0.0, 4.0, seed).iter().map(|x| x.floor()).collect() };
    let (a, b) = (&letters(1)[..], &letters(2)[..]);
    let plain = move |z: &mut [f32]| {
        z[..n].iter_mut().enumerate().for_each(|(j, z)| *z = -GAP * j as f32);
        for i in 1..n {
            let (top, bottom) = z.split_at_mut(i * n);
            let up = &top[(i - 1) * n..];
            let row = &mut bottom[..n];
            row[0] = -GAP * i as f32;
            for j in 1..n {
                let step = up[j - 1] + if a[i - 1] == b[j - 1] { 1.0 } else { -1.0 };
                row[j] = step.max(up[j] - GAP).max(row[j - 1] - GAP);
            }
        }
    };
    let mut expected = vec![0f32; n * n];
    plain(&mut expected);
    // The score of both sequences but their last letters.
    let last = vec![expected[n * n - 1]];
    let mut contest = Contest::new(bench, job, Expected::near(last, 1e-6));
    let f = compile(alignment)?.size::<D>(2 * n - 1);
    contest.ours(move || f.call(a, b), move |z| Ok(vec![z.to_vec()?[(2 * n - 2) * n + n - 1]]));
    let mut table = vec![0f32; n * n];
    contest.gives("plain", move || {
        plain(&mut table);
        table[n * n - 1]
    });
    contest.measure()
}

/// How many pairs a stretch of a sequence can form, by length and start: `[len, i]` is that of the letters `i` to `i + len`.
fn folding(s: Arr<f32, N>) -> Arr<f32, (N, N)> {
    type Table = Arr<f32, (N, N)>;
    let start: Table = fill(0.0);
    for_each::<N, _>(start, |len, table: Table| {
        let row: Arr<f32, N> = tabulate(|i: Idx<N>| {
            let at = |len: Near<N>, i: Near<N>| table.at_or((len, i), 0.0);
            let end = (i + len.i64()).clamp();
            let pair = (s.at(i) + s.at(end)).eq(3.0).select(1.0, 0.0);
            let inside = at(len - 2, i + 1) + pair;
            let ends = at(len - 1, i + 1).max(at(len - 1, i + 0)).max(inside);
            let split = iterate(len.u32(), ends, |k, best: Exp<f32>| {
                let k = k.cast::<i64>();
                let left = at(Near::new(k), i + 0);
                let right = at(Near::new(len.i64() - k - 1), i + k + 1);
                best.max(left + right)
            });
            (len.i64().gt(0) & (i.i64() + len.i64()).lt(Idx::<N>::extent())).select(split, 0.0)
        });
        table.with_row(len, row)
    })
}

fn run_folding(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.side(512);
    let s: Vec<f32> = Slab::random(&bench.native, n, 0.0, 4.0, 1).iter().map(|x| x.floor()).collect();
    let s = &s[..];
    let plain = move |t: &mut [f32]| {
        t.fill(0.0);
        for len in 1..n {
            for i in 0..n - len {
                let j = i + len;
                let pair = if s[i] + s[j] == 3.0 { 1.0 } else { 0.0 };
                let inside = if len >= 2 { t[(i + 1) * n + j - 1] } else { 0.0 };
                let mut best = t[(i + 1) * n + j].max(t[i * n + j - 1]).max(inside + pair);
                for k in i..j {
                    best = best.max(t[i * n + k] + t[(k + 1) * n + j]);
                }
                t[i * n + j] = best;
            }
        }
    };
    let mut table = vec![0f32; n * n];
    plain(&mut table);
    let mut expected = vec![0f32; n * n];
    for len in 0..n {
        (0..n - len).for_each(|i| expected[len * n + i] = table[i * n + i + len]);
    }
    let mut contest = Contest::new(bench, job, Expected::near(vec![table[n - 1]], 1e-6));
    let f = compile(folding)?;
    contest.ours(move || f.call(s), move |z| Ok(vec![z.to_vec()?[(n - 1) * n]]));
    contest.gives("plain", move || {
        plain(&mut table);
        table[n - 1]
    });
    contest.measure()
}

/// American puts, from the last step back to the first.
fn binomial(price: Arr<f32, Options>, strike: Arr<f32, Options>) -> Arr<f32, Options> {
    let values: Arr<f32, (Options, N)> = stack(|o: Idx<Options>| {
        let steps = Idx::<N>::extent().cast::<f32>() - 1.0;
        let (rate, volatility) = (0.02, 0.3);
        let dt = 1.0 / steps;
        let up = (volatility * dt.sqrt()).exp();
        let down = 1.0 / up;
        let grows = (rate * dt).exp();
        let p = (grows - down) / (up - down);
        let (win, lose) = (p / grows, (1.0 - p) / grows);
        let last: Arr<f32, N> = tabulate(|j: Idx<N>| {
            let end = price.at(o) * (volatility * dt.sqrt() * (2.0 * j.to::<f32>() - steps)).exp();
            (strike.at(o) - end).max(0.0)
        });
        iterate(steps.cast::<u32>(), last, |_, v: Arr<f32, N>| {
            tabulate(|j: Idx<N>| win * v.at((j + 1).clamp()) + lose * v.at(j))
        })
    });
    tabulate(|o: Idx<Options>| values.at_or((o, Near::<N>::new(0)), 0.0))
}

fn run_binomial(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let (options, steps) = (if bench.quick { 8 } else { 256 }, bench.side(4096));
    let price = &Slab::random(&bench.native, options, 10.0, 50.0, 1)[..];
    let strike = &Slab::random(&bench.native, options, 10.0, 50.0, 2)[..];
    let plain = move |z: &mut [f32]| {
        let (rate, volatility, dt) = (0.02f32, 0.3f32, 1.0 / steps as f32);
        let up = (volatility * dt.sqrt()).exp();
        let down = 1.0 / up;
        let grows = (rate * dt).exp();
        let p = (grows - down) / (up - down);
        let (win, lose) = (p / grows, (1.0 - p) / grows);
        let mut v = vec![0f32; steps + 1];
        for (o, z) in z.iter_mut().enumerate() {
            for (j, v) in v.iter_mut().enumerate() {
                let end = price[o] * (volatility * dt.sqrt() * (2.0 * j as f32 - steps as f32)).exp();
                *v = (strike[o] - end).max(0.0);
            }
            for t in (0..steps).rev() {
                for j in 0..=t {
                    v[j] = win * v[j + 1] + lose * v[j];
                }
            }
            *z = v[0];
        }
    };
    let mut expected = vec![0f32; options];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.01).or_within(0.01));
    let f = compile(binomial)?.size::<N>(steps + 1);
    contest.ours(move || f.call(price, strike), |z| z.to_vec());
    contest.fills("plain", options, plain);
    contest.measure()
}
