//! A histogram in two dimensions: where the points of a strange attractor fall, a quarter of a million at a time.
//!
//! `cargo run --release --example histogram -- --out attractor.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(N, Rows, Cols);

type Points = Arr<[f32; 2], N>;
type Counts = Arr<u32, (Rows, Cols)>;

/// One turn of Peter de Jong's map; all of the plane lands in a square of side 4.
fn turn(points: Points) -> Points {
    let (a, b, c, d) = (1.4, -2.3, 2.4, -2.1);
    points.map(|[x, y]| [(y * a).sin() - (x * b).cos(), (x * c).sin() - (y * d).cos()])
}

/// How many points have fallen on each pixel: one more where `p` is, for every `p`.
fn histogram(seen: Counts, points: Points) -> Counts {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    seen.scatter_add(|i: Idx<N>| {
        let [x, y] = points.at(i);
        let (row, col) = (rows * 0.5 + y * rows * 0.235, cols * 0.5 + x * rows * 0.235);
        ((Near::<Rows>::new(row.floor().cast::<i32>()), Near::<Cols>::new(col.floor().cast::<i32>())), 1u32)
    })
}

/// The counts of many turns. The first ones do not count, so that only the attractor is seen.
fn attractor(points: Points, turns: Exp<u32>) -> (Points, Counts) {
    let settled = iterate(21, points, |_, points| turn(points));
    let none: Counts = fill(0);
    let (_, seen) = iterate(turns, (settled, none), |_, (points, seen): (Points, Counts)| {
        let points = turn(points);
        (points, histogram(seen, points))
    });
    (settled, seen)
}

/// Counts as colours, on a logarithmic scale from night over rose to white.
fn develop(seen: Counts) -> Arr<[u8; 3], (Rows, Cols)> {
    let most = seen.max().cast::<f32>().ln_1p();
    seen.map(|n| {
        // A hundred shades are enough for the eye, and keep the file small.
        let l = (n.cast::<f32>().ln_1p() / most * 100.0).round() / 100.0;
        [l.powf(1.15) * 1.35, l.powf(2.1) * 1.3, l.powf(1.1) * 0.85 + 0.07 + l.powf(5.0) * 0.3]
            .map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width, n, turns) = (360, 520, 1 << 18, 150);
    let attractor = slyz::compile(attractor)?.size::<Rows>(height).size::<Cols>(width);
    if asked_about(&attractor) {
        return Ok(());
    }
    let points: Vec<[f32; 2]> =
        (0..n).map(|i| [(i % 512) as f32 / 256.0 - 1.0, (i / 512) as f32 / 256.0 - 1.0]).collect();
    let (settled, seen) = attractor.call(&points, turns)?;
    check(&settled, [height, width])?;
    let counted: u64 = seen.to_vec()?.iter().map(|&count| u64::from(count)).sum();
    println!("{counted} points counted");
    assert_eq!(counted, n as u64 * u64::from(turns), "every point is counted once");
    let rgb = slyz::compile(develop)?.call(&seen)?;
    save_flat("histogram", [height, width], &rgb.to_vec()?)
}

/// The same counts as a plain loop.
fn check(points: &Tensor<[f32; 2], N>, [height, width]: [usize; 2]) -> Result<(), slyz::Error> {
    let none = vec![0; height * width];
    let (rows, cols) = (height as f32, width as f32);
    let mut plain = vec![0u32; height * width];
    for [x, y] in points.to_vec()? {
        let (row, col) = (rows * 0.5 + y * rows * 0.235, cols * 0.5 + x * rows * 0.235);
        plain[row as usize * width + col as usize] += 1;
    }
    let counted = slyz::compile(histogram)?.call((&none, [height, width]), points)?;
    assert_eq!(counted.to_vec()?, plain);
    Ok(())
}
