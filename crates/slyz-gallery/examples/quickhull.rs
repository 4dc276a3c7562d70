//! The convex hull of points, by quickhull: all edges look for the point that is farthest outside of them at once, and are bent to it,
//! until no point is outside. Coordinates are whole numbers, so the hull is exact.
//!
//! `cargo run --release --example quickhull -- --out quickhull.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;

axis!(N, Corners, Rows, Cols);

type Point = (i32, i32);
type Places = Arr<At<N>, N>;

/// Twice the area of a triangle: how far the third point is to the left of the way from the first to the second.
fn left_of((ax, ay): (Exp<i32>, Exp<i32>), (bx, by): (Exp<i32>, Exp<i32>), (x, y): (Exp<i32>, Exp<i32>)) -> Exp<i32> {
    (bx - ax) * (y - ay) - (by - ay) * (x - ax)
}

/// The edges of the hull. An edge goes by the number of the corner it starts at: `next` is the corner where it ends, and `edge` tells for
/// each point which edge it may be outside of.
fn hull(points: Arr<Point, N>) -> Arr<(Point, Point), Corners> {
    // Of points equally far outside, the first in order is a corner.
    let p = points.sort();
    let first = Near::<N>::new(0).clamp();
    let last = first.reversed();
    let start: Places = tabulate(|i: Idx<N>| i);
    let next = start.with(first, last).with(last, first);
    let edge: Places = tabulate(|i| left_of(p.at(first), p.at(last), p.at(i)).gt(0).select(first, last));
    let outside = |next: Places, edge: Places| -> Arr<i32, N> {
        tabulate(|i| left_of(p.at(edge.at(i)), p.at(next.at(edge.at(i))), p.at(i)))
    };
    let (next, _, _) = repeat_while(
        (next, edge, outside(next, edge)),
        |(_, _, far)| far.max().gt(0),
        |(next, edge, far): (Places, Places, Arr<i32, N>)| {
            let most: Arr<i32, N> = scatter(MaxOf, |i: Idx<N>| (edge.at(i), far.at(i)));
            let tip: Arr<u32, N> = scatter(MinOf, |i: Idx<N>| {
                let farthest = far.at(i).gt(0) & far.at(i).eq(most.at(edge.at(i)));
                (edge.at(i), farthest.select(i.u32(), u32::MAX))
            });
            let tip_of = |e: Idx<N>| Near::<N>::new(tip.at(e));
            let bent = next.scatter_last(|e: Idx<N>| (tip_of(e), next.at(e)));
            let next: Places = tabulate(|e| tip_of(e).inside().select(tip_of(e).clamp(), bent.at(e)));
            // A point behind the tip belongs to the edge that starts there.
            let edge: Places = tabulate(|i| {
                let tip = tip_of(edge.at(i)).clamp();
                let behind = far.at(i).gt(0) & left_of(p.at(tip), p.at(next.at(tip)), p.at(i)).gt(0);
                behind.select(tip, edge.at(i))
            });
            (next, edge, outside(next, edge))
        },
    );
    let corners = start.filter::<Corners>(|i| next.at(i).ne(i));
    corners.map(|i| (p.at(i), p.at(next.at(i))))
}

/// The points, and the hull around them. A pixel is 8 units wide.
fn picture(points: Arr<Point, N>, edges: Arr<(Point, Point), Corners>) -> Arr<[u8; 3], (Rows, Cols)> {
    let dots: Arr<u32, (Rows, Cols)> = scatter(Sum, |i: Idx<N>| {
        let (x, y) = points.at(i);
        ((Near::<Rows>::new(y / 8), Near::<Cols>::new(x / 8)), 1u32)
    });
    tabulate(|(i, j)| {
        // How far the rope is, which has a knot at each corner.
        let rope = min(|e: Idx<Corners>| {
            let ((ax, ay), (bx, by)) = edges.at(e);
            let [x, y] = [j.to::<i32>() * 8 + 4 - ax, i.to::<i32>() * 8 + 4 - ay].map(|d| d.cast::<f32>() / 8.0);
            let [dx, dy] = [bx - ax, by - ay].map(|d| d.cast::<f32>() / 8.0);
            let along = ((x * dx + y * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
            let away = |x: Exp<f32>, y: Exp<f32>| (x * x + y * y).sqrt();
            away(x - along * dx, y - along * dy).min(away(x, y) - 3.0)
        });
        let stroke = (1.7 - rope).clamp(0.0, 1.0);
        let dot = dots.at((i, j)).min(1).cast::<f32>();
        [(0.985f32, 0.15f32, 0.85f32), (0.98, 0.35, 0.33), (0.965, 0.60, 0.15)].map(|(paper, ink, red)| {
            let dotted = paper + (ink - paper) * dot;
            ((dotted + (red - dotted) * stroke) * 255.0 + 0.5).cast::<u8>()
        })
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let hull = slyz::compile(hull)?;
    if asked_about(&hull) {
        return Ok(());
    }
    let (height, width) = (400, 640);
    let points = cloud(8_000, [height as f32 * 8.0, width as f32 * 8.0]);
    let edges = hull.call(&points)?;
    let mut found = edges.to_vec()?;
    found.sort_unstable();
    assert_eq!(found, plain(&points), "plain Rust has another hull");
    println!("{} points are inside of {} corners", points.len(), found.len());
    let draw = slyz::compile(picture)?.size::<Rows>(height).size::<Cols>(width);
    save("quickhull", [height, width], &draw.call(&points, &edges)?.to_vec()?)
}

/// Points in a star.
fn cloud(n: usize, [height, width]: [f32; 2]) -> Vec<Point> {
    let mut seed = 3u32;
    let mut dice = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0
    };
    (0..n)
        .map(|_| {
            let turn = dice() * std::f32::consts::TAU;
            let far = dice().sqrt() * (0.35 + 0.12 * (5.0 * turn).cos());
            ((width * (0.5 + far * turn.cos())) as i32, (height * (0.5 + far * turn.sin())) as i32)
        })
        .collect()
}

/// Andrew's chains, from the first point in order to the last and back.
fn plain(points: &[Point]) -> Vec<(Point, Point)> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let back: Vec<Point> = sorted.iter().rev().copied().collect();
    let mut edges = vec![];
    for way in [sorted, back] {
        let mut chain: Vec<Point> = vec![];
        for p in way {
            while let [.., a, b] = chain[..] {
                if (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0) < 0 {
                    break;
                }
                chain.pop();
            }
            chain.push(p);
        }
        edges.extend(chain.windows(2).map(|pair| (pair[0], pair[1])));
    }
    edges.sort_unstable();
    edges
}
