//! Floyd and Warshall: the shortest ways between all places of a maze. A turn for each place, which asks every pair whether the way
//! over that place is shorter.
//!
//! `cargo run --release --example shortest_paths -- --out maze.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, glow, save_flat};
use std::collections::VecDeque;
use std::error::Error;

axis!(N, Rows, Cols);

type Square = Arr<f32, (N, N)>;
/// A place is 16 × 16 of them, of which the wall to the right and the one below take three.
type Pixels = (Flat<Rows, Fix<16>>, Flat<Cols, Fix<16>>);

fn shortest_paths(steps: Square) -> Square {
    for_each(steps, |k: Idx<N>, d: Square| {
        tabulate(|(i, j)| {
            let over = d.at((i, k)) + d.at((k, j));
            d.at((i, j)).min(over)
        })
    })
}

/// How far each pixel is from one place, as a colour; walls are black.
fn picture(d: Square, from: Exp<u32>) -> Arr<[u8; 3], Pixels> {
    let from: Idx<N> = Near::new(from).clamp();
    let most = max(|i: Idx<N>| d.at((from, i)));
    tabulate(|(y, x): Pos<Pixels>| {
        let place = |down: Exp<i64>, right: Exp<i64>| -> Idx<N> {
            Near::new((y.outer().i64() + down) * Idx::<Cols>::extent() + x.outer().i64() + right).clamp()
        };
        let down = y.inner().i64().ge(13);
        let right = x.inner().i64().ge(13);
        let here = place(lit(0), lit(0));
        let next = place(down.cast::<i64>(), right.cast::<i64>());
        let wall = (down & right) | ((down | right) & d.at((here, next)).gt(1.0));
        let colour = glow(0.15 + 0.85 * d.at((from, here)) / most);
        colour.map(|c| wall.select(0, c))
    })
}

/// A maze: whether one can go right and down from each place. It is a tree, of which a few walls have fallen.
fn maze([rows, cols]: [usize; 2]) -> Vec<[bool; 2]> {
    let mut seed = 3u32;
    let mut dice = move |n: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % n
    };
    let mut open = vec![[false; 2]; rows * cols];
    let mut reached = vec![false; rows * cols];
    let mut trail = vec![0];
    reached[0] = true;
    while let Some(&here) = trail.last() {
        let fresh: Vec<usize> = around(here, [rows, cols]).filter(|&p| !reached[p]).collect();
        if fresh.is_empty() {
            trail.pop();
            continue;
        }
        let next = fresh[dice(fresh.len())];
        open[here.min(next)][usize::from(here.abs_diff(next) != 1)] = true;
        reached[next] = true;
        trail.push(next);
    }
    (0..rows).for_each(|_| open[dice(rows - 1) * cols + dice(cols - 1)] = [true, true]);
    open
}

/// The places beside one.
fn around(p: usize, [rows, cols]: [usize; 2]) -> impl Iterator<Item = usize> {
    let (i, j) = (p / cols, p % cols);
    let up = (i > 0).then(|| p - cols);
    let down = (i + 1 < rows).then(|| p + cols);
    let left = (j > 0).then(|| p - 1);
    let right = (j + 1 < cols).then(|| p + 1);
    [up, down, left, right].into_iter().flatten()
}

/// How far all places are from one: a search in breadth.
fn plain(steps: &[f32], n: usize, from: usize) -> Vec<f32> {
    let mut far = vec![f32::INFINITY; n];
    far[from] = 0.0;
    let mut queue = VecDeque::from([from]);
    while let Some(p) = queue.pop_front() {
        for q in (0..n).filter(|q| steps[p * n + q] == 1.0) {
            if far[q] == f32::INFINITY {
                far[q] = far[p] + 1.0;
                queue.push_back(q);
            }
        }
    }
    far
}

fn main() -> Result<(), Box<dyn Error>> {
    let paths = slyz::compile(shortest_paths)?;
    if asked_about(&paths) {
        return Ok(());
    }
    let [rows, cols] = [20, 34];
    let n = rows * cols;
    let mut steps = vec![f32::INFINITY; n * n];
    for (p, open) in maze([rows, cols]).iter().enumerate() {
        steps[p * n + p] = 0.0;
        for (q, _) in [p + 1, p + cols].into_iter().zip(open).filter(|(_, open)| **open) {
            steps[p * n + q] = 1.0;
            steps[q * n + p] = 1.0;
        }
    }
    let d = paths.call((&steps, [n, n]))?;
    let all = d.to_vec()?;
    let from = cols / 2;
    for start in [from, n - 1] {
        assert_eq!(all[start * n..][..n], plain(&steps, n, start), "a search from {start} finds other ways");
    }
    println!("the longest of the {} shortest ways has {} steps", n * n, all.iter().fold(0f32, |a, b| a.max(*b)));
    let draw = slyz::compile(picture)?.size::<Rows>(rows).size::<Cols>(cols);
    save_flat("shortest_paths", [16 * rows, 16 * cols], &draw.call(&d, from as u32)?.to_vec()?)
}
