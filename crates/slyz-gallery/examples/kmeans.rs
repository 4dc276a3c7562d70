//! k-means: every point finds its nearest centre (a fold in each body), every centre moves to the mean of its points
//! (a scatter), until nothing moves. All of it is one function.
//!
//! `cargo run --release --example kmeans -- --out kmeans.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(N, K, Rows, Cols);

/// The centre that is nearest to a point.
fn nearest(centres: Arr<[f32; 2], K>, [x, y]: [Exp<f32>; 2]) -> Idx<K> {
    argmin(|k| {
        let [a, b] = centres.at(k);
        (x - a) * (x - a) + (y - b) * (y - b)
    })
}

/// Lloyd's step: new centres, and how far they moved. A centre without points stays.
fn step(points: Arr<[f32; 2], N>, centres: Arr<[f32; 2], K>) -> (Arr<[f32; 2], K>, Exp<f32>) {
    let totals = scatter(Sum, |i: Idx<N>| {
        let [x, y] = points.at(i);
        (nearest(centres, [x, y]), (x, y, 1f32))
    });
    let moved = zip((totals, centres)).map(|((x, y, n), old)| n.gt(0.0).select([x / n, y / n], old));
    let far = zip((moved, centres)).map(|([x, y], [a, b])| (x - a).abs() + (y - b).abs()).max();
    (moved, far)
}

/// Steps until no centre moves: the centres, and how many steps it took.
fn kmeans(points: Arr<[f32; 2], N>, start: Arr<[f32; 2], K>) -> (Arr<[f32; 2], K>, Exp<u32>) {
    let (centres, _, steps) = repeat_while(
        (start, f32::INFINITY, 0u32),
        |(_, far, steps)| far.gt(0.0) & steps.lt(200),
        |(centres, _, steps): (Arr<[f32; 2], K>, Exp<f32>, Exp<u32>)| {
            let (centres, far) = step(points, centres);
            (centres, far, steps + 1)
        },
    );
    (centres, steps)
}

/// Which centre each point belongs to.
fn assign(points: Arr<[f32; 2], N>, centres: Arr<[f32; 2], K>) -> Arr<At<K>, N> {
    points.map(|p| nearest(centres, p))
}

/// The points in the colours of their centres, on a ground that shows whose land it is.
fn picture(points: Arr<[f32; 2], N>, centres: Arr<[f32; 2], K>) -> Arr<[u8; 3], (Rows, Cols)> {
    let rows = Idx::<Rows>::extent().cast::<f32>();
    let dots = scatter(Sum, |i: Idx<N>| {
        let [x, y] = points.at(i).map(|c| Exp::cast::<i32>(c * rows));
        ((Near::<Rows>::new(y), Near::<Cols>::new(x)), 1f32)
    });
    // A dot is a few pixels wide.
    let dots = dots.stencil(Border::Value(0.0), |d| {
        d((0, 0))
            + 0.75 * (d((-1, 0)) + d((1, 0)) + d((0, -1)) + d((0, 1)))
            + 0.25 * (d((-1, -1)) + d((1, 1)) + d((-1, 1)) + d((1, -1)))
    });
    tabulate(|(i, j)| {
        let (y, x) = (i.to::<f32>() / rows, j.to::<f32>() / rows);
        let k = nearest(centres, [x, y]);
        let [a, b] = centres.at(k);
        let away = ((x - a) * (x - a) + (y - b) * (y - b)).sqrt() * rows;
        let ink = dots.at((i, j)).min(1.0);
        let (rim, core) = ((8.5 - away).clamp(0.0, 1.0), (6.0 - away).clamp(0.0, 1.0));
        let turn = k.to::<f32>() * 2.399_963;
        [0.3f32, 2.4, 4.5].map(|phase| {
            let hue = 0.5 + 0.42 * (turn + phase).cos();
            let land = 0.80 + 0.17 * hue;
            let dot = land * (1.0 - ink) + hue * 0.78 * ink;
            let mark = dot * (1.0 - rim) + (1.0 - core) * rim + core * 0.12;
            (mark.clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>()
        })
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let kmeans = slyz::compile(kmeans)?;
    if asked_about(&kmeans) {
        return Ok(());
    }
    let (height, width) = (400, 640);
    let points = clouds(6000);
    let start: Vec<[f32; 2]> = points.iter().step_by(points.len() / 7).take(7).copied().collect();
    let (centres, steps) = kmeans.call(&points, &start)?;
    let steps = steps.value()?;
    let mut plain = start.clone();
    (0..steps).for_each(|_| lloyd(&points, &mut plain));
    println!("{} points found their {} centres after {steps} steps", points.len(), start.len());
    for (ours, theirs) in centres.to_vec()?.iter().zip(&plain) {
        let off = (ours[0] - theirs[0]).abs() + (ours[1] - theirs[1]).abs();
        assert!(off < 1e-3, "plain Rust has the centre at {theirs:?}, not {ours:?}");
    }
    let owner = slyz::compile(assign)?.call(&points, &centres)?.to_vec()?;
    for k in 0..start.len() {
        println!("centre {k} has {} points", owner.iter().filter(|at| at.get() == k as u64).count());
    }
    let draw = slyz::compile(picture)?.size::<Rows>(height).size::<Cols>(width);
    save_flat("kmeans", [height, width], &draw.call(&points, &centres)?.to_vec()?)
}

/// Points around seven places, as many as asked for; the height of the picture is 1.
fn clouds(n: usize) -> Vec<[f32; 2]> {
    let mut seed = 7u32;
    let mut dice = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0
    };
    let places = [(0.30, 0.27), (0.80, 0.22), (1.28, 0.26), (0.63, 0.72), (0.99, 0.56), (1.30, 0.74), (0.25, 0.68)];
    (0..n)
        .map(|_| {
            let (x, y) = places[(dice() * 7.0) as usize];
            let (far, turn) = ((-2.0 * (1.0 - dice()).ln()).sqrt() * 0.066, dice() * std::f32::consts::TAU);
            [(x + far * turn.cos() * 1.3).clamp(0.01, 1.59), (y + far * turn.sin()).clamp(0.01, 0.99)]
        })
        .collect()
}

/// Lloyd's step in plain Rust.
fn lloyd(points: &[[f32; 2]], centres: &mut [[f32; 2]]) {
    let mut totals = vec![[0f64; 3]; centres.len()];
    for &[x, y] in points {
        let far = |c: &[f32; 2]| (x - c[0]).powi(2) + (y - c[1]).powi(2);
        let k = (0..centres.len()).min_by(|&a, &b| far(&centres[a]).total_cmp(&far(&centres[b]))).unwrap_or(0);
        totals[k] = [totals[k][0] + f64::from(x), totals[k][1] + f64::from(y), totals[k][2] + 1.0];
    }
    for (centre, [x, y, n]) in centres.iter_mut().zip(totals) {
        if n > 0.0 {
            *centre = [(x / n) as f32, (y / n) as f32];
        }
    }
}
