//! Gauss-Seidel: every value becomes the mean of its neighbours, two of which the same sweep has just changed. The order matters, so
//! the loops are loops: over sweeps, over rows, and along each row.
//!
//! `cargo run --release --example gauss_seidel -- --out plates.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, glow, save};
use std::error::Error;

axis!(N, M);

type Plate = Arr<f32, (N, M)>;
/// A place is 4 × 4 of them.
type Pixels = (Flat<N, Fix<4>>, Flat<M, Fix<4>>);

/// Sweeps over a plate of which some places are held; outside it is 0.
fn relax(u: Plate, held: Arr<bool, (N, M)>, sweeps: Exp<u32>) -> Plate {
    iterate(sweeps, u, |_, u: Plate| {
        for_each(u, |i: Idx<N>, u: Plate| {
            // What a row takes from the row above it, which is new, from the one below, and from the right.
            let around: Arr<f32, M> =
                tabulate(|j| u.at_or((i - 1, j), 0.0) + u.at_or((i + 1, j), 0.0) + u.at_or((i, j + 1), 0.0));
            let (u, _) = for_each((u, 0f32), |j: Idx<M>, (u, left): (Plate, Exp<f32>)| {
                let here = held.at((i, j)).select(u.at((i, j)), 0.25 * (around.at(j) + left));
                (u.with((i, j), here), here)
            });
            u
        })
    })
}

/// Values as colours, in bands.
fn picture(u: Plate) -> Arr<[u8; 3], Pixels> {
    tabulate(|(y, x): Pos<Pixels>| {
        let t = u.at((y.outer(), x.outer()));
        glow((t * 24.0).ceil() / 24.0)
    })
}

/// The same sweeps in plain Rust.
fn plain(u: &mut [f32], held: &[bool], [n, m]: [usize; 2], sweeps: u32) {
    for _ in 0..sweeps {
        for i in 0..n {
            for j in 0..m {
                let p = i * m + j;
                let up = if i > 0 { u[p - m] } else { 0.0 };
                let down = if i + 1 < n { u[p + m] } else { 0.0 };
                let right = if j + 1 < m { u[p + 1] } else { 0.0 };
                let left = if j > 0 { u[p - 1] } else { 0.0 };
                u[p] = if held[p] { u[p] } else { 0.25 * (up + down + right + left) };
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let relax = slyz::compile(relax)?;
    if asked_about(&relax) {
        return Ok(());
    }
    let [n, m] = [80, 140];
    let sweeps = 150;
    // A ring with a gap, and a bar inside of it.
    let hot = |p: usize| {
        let y = (p / m) as f32 - 39.5;
        let x = (p % m) as f32 - 69.5;
        let ring = ((x * x + y * y).sqrt() - 30.0).abs() < 1.5 && y.abs() > 8.0;
        ring || (y.abs() < 1.5 && x.abs() < 55.0 && x.abs() > 12.0)
    };
    let held: Vec<bool> = (0..n * m).map(hot).collect();
    let mut u: Vec<f32> = held.iter().map(|&held| if held { 1.0 } else { 0.0 }).collect();
    let ours = relax.call((&u, [n, m]), (&held, [n, m]), sweeps)?;
    plain(&mut u, &held, [n, m], sweeps);
    let off = ours.to_vec()?.iter().zip(&u).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("{sweeps} sweeps of {n} × {m}: at most {off:.1e} from plain Rust");
    assert!(off < 1e-5);
    save("gauss_seidel", [4 * n, 4 * m], &slyz::compile(picture)?.call(&ours)?.to_vec()?)
}
