//! Whole programs of public suites, written as a newcomer would, beside plain Rust.

use crate::contest::{Contest, Expected, Failure};
use crate::data::Slab;
use crate::job::{Bench, Job, Row};
use slyz::prelude::*;

axis!(N, K, D, Edges);

pub static JOBS: &[Job] = &[
    Job {
        name: "nearest",
        title: "10 nearest of 855,280 places (Rodinia's nn)",
        target: None,
        run: run_nearest,
        source: || Ok(compile(nearest)?.source().to_string()),
    },
    Job {
        name: "kmeans",
        title: "k-means, 10 turns, 50,000 points of 16 numbers, 8 centres",
        target: None,
        run: run_kmeans,
        source: || Ok(compile(kmeans)?.source().to_string()),
    },
    Job {
        name: "breadth_first",
        title: "breadth-first search, 200,000 nodes, 1,200,000 edges",
        target: None,
        run: run_search,
        source: || Ok(compile(search)?.source().to_string()),
    },
];

/// How far the nearest places are.
fn nearest(latitude: Arr<f32, N>, longitude: Arr<f32, N>, a: Exp<f32>, b: Exp<f32>) -> Arr<f32, Fix<10>> {
    let near: Arr<f32, N> = tabulate(|i: Idx<N>| {
        let (x, y) = (latitude.at(i) - a, longitude.at(i) - b);
        -(x * x + y * y).sqrt()
    });
    near.top_k::<Fix<10>>().0.map(|v| -v)
}

fn run_nearest(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    let n = bench.length(855_280);
    let x = &Slab::random(&bench.native, n, 0.0, 180.0, 1)[..];
    let y = &Slab::random(&bench.native, n, 0.0, 180.0, 2)[..];
    let plain = move |z: &mut [f32]| {
        let mut best: Vec<f32> = vec![];
        for (x, y) in x.iter().zip(y) {
            let far = ((x - 30.0) * (x - 30.0) + (y - 90.0) * (y - 90.0)).sqrt();
            if best.len() < z.len() || far < best[z.len() - 1] {
                let place = best.partition_point(|v| *v <= far);
                best.insert(place, far);
                best.truncate(z.len());
            }
        }
        z.copy_from_slice(&best);
    };
    let mut expected = vec![0.0; 10];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-6));
    let f = compile(nearest)?;
    contest.ours(move || f.call(x, y, 30.0, 90.0), |z| z.to_vec());
    contest.fills("plain", 10, plain);
    contest.measure()
}

/// Lloyd's algorithm.
fn kmeans(points: Arr<f32, (N, D)>, start: Arr<f32, (K, D)>, turns: Exp<u32>) -> Arr<f32, (K, D)> {
    iterate(turns, start, |_, centres: Arr<f32, (K, D)>| {
        let far = |i: Idx<N>, k: Idx<K>| {
            sum(|d: Idx<D>| {
                let off = points.at((i, d)) - centres.at((k, d));
                off * off
            })
        };
        let own: Arr<At<K>, N> = tabulate(|i| argmin(|k| far(i, k)));
        let counts: Arr<u32, K> = scatter(Sum, |i: Idx<N>| (own.at(i), 1u32));
        let sums: Arr<f32, (K, D)> = scatter(Sum, |(i, d): Pos<(N, D)>| ((own.at(i), d), points.at((i, d))));
        tabulate(|(k, d)| {
            let mean = sums.at((k, d)) / counts.at(k).cast::<f32>();
            counts.at(k).gt(0).select(mean, centres.at((k, d)))
        })
    })
}

fn run_kmeans(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    const CENTRES: usize = 8;
    const WIDTH: usize = 16;
    const TURNS: usize = 10;
    let n = bench.length(50_000);
    let points = &Slab::random(&bench.native, n * WIDTH, 0.0, 1.0, 1)[..];
    let start = &points[..CENTRES * WIDTH];
    let plain = move |centres: &mut [f32]| {
        centres.copy_from_slice(start);
        for _ in 0..TURNS {
            let mut sums = [[0f32; WIDTH]; CENTRES];
            let mut counts = [0u32; CENTRES];
            for point in points.chunks_exact(WIDTH) {
                let far = |centre: &[f32]| -> f32 { centre.iter().zip(point).map(|(c, p)| (p - c) * (p - c)).sum() };
                let all = centres.chunks_exact(WIDTH).map(far).enumerate();
                let (own, _) = all.fold((0, f32::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
                counts[own] += 1;
                sums[own].iter_mut().zip(point).for_each(|(sum, p)| *sum += p);
            }
            for ((centre, sum), count) in centres.chunks_exact_mut(WIDTH).zip(&sums).zip(counts) {
                if count > 0 {
                    centre.iter_mut().zip(sum).for_each(|(c, sum)| *c = sum / count as f32);
                }
            }
        }
    };
    let mut expected = vec![0.0; CENTRES * WIDTH];
    plain(&mut expected);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 1e-2));
    let f = compile(kmeans)?;
    contest.ours(move || f.call((points, [n, WIDTH]), (start, [CENTRES, WIDTH]), TURNS as u32), |z| z.to_vec());
    contest.fills("plain", CENTRES * WIDTH, plain);
    contest.measure()
}

/// How many steps each node is from the first one; -1 where none lead there.
fn search(from: Arr<At<N>, Edges>, to: Arr<At<N>, Edges>) -> Arr<f32, N> {
    let start: Arr<i32, N> = tabulate(|n: Idx<N>| n.u32().eq(0).select(0, -1));
    let (levels, _, _) = repeat_while(
        (start, 0i32, true),
        |(_, _, grows)| grows,
        |(levels, level, _): (Arr<i32, N>, Exp<i32>, Exp<bool>)| {
            let reached: Arr<bool, N> = scatter(Any, |e: Idx<Edges>| (to.at(e), levels.at(from.at(e)).eq(level)));
            let is_new: Arr<bool, N> = tabulate(|n| reached.at(n) & levels.at(n).lt(0));
            (tabulate(|n| is_new.at(n).select(level + 1, levels.at(n))), level + 1, is_new.any())
        },
    );
    levels.cast::<f32>()
}

fn run_search(bench: &Bench, job: &'static Job) -> Result<Row, Failure> {
    const DEGREE: usize = 6;
    let n = bench.length(200_000);
    let dice = Slab::random(&bench.native, n * DEGREE, 0.0, 1.0, 1);
    let to: Vec<usize> = dice.iter().map(|&v| ((v * n as f32) as usize).min(n - 1)).collect();
    let plain = |z: &mut [f32], to: &[usize]| {
        z.fill(-1.0);
        z[0] = 0.0;
        let mut queue = vec![0];
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for &other in &to[node * DEGREE..][..DEGREE] {
                if z[other] < 0.0 {
                    z[other] = z[node] + 1.0;
                    queue.push(other);
                }
            }
        }
    };
    let mut expected = vec![0.0; n];
    plain(&mut expected, &to);
    let mut contest = Contest::new(bench, job, Expected::near(expected, 0.0));
    let f = compile(search)?;
    let edges = |place: &dyn Fn(usize) -> usize| -> Vec<At<N>> {
        (0..n * DEGREE).map(|edge| At::new(place(edge) as u64)).collect()
    };
    let (sources, targets) = (edges(&|edge| edge / DEGREE), edges(&|edge| to[edge]));
    let f = f.size::<N>(n);
    contest.ours(move || f.call(&sources, &targets), |z| z.to_vec());
    contest.fills("plain, by a queue", n, move |z| plain(z, &to));
    contest.measure()
}
