//! Heat spreading on a plate: a five-point stencil, turn after turn, all in one function.
//!
//! `cargo run --release --example heat -- --out heat.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, glow, save};
use std::error::Error;

axis!(N, M);

fn heat(u: Arr<f32, (N, M)>, turns: Exp<u32>) -> Arr<f32, (N, M)> {
    iterate(turns, u, |_, u: Arr<f32, (N, M)>| {
        u.stencil(Border::Clamp, |u| {
            u((0, 0)) + 0.2 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0)))
        })
    })
}

const LETTERS: [&str; 9] = [
    ".....................#..",
    "........................",
    ".####..#.....#...#.#####",
    "#......#.....#...#.....#",
    "#......#.#....#.#.....#.",
    ".###...##......#.....#..",
    "....#.##.......#....#...",
    "....#..#.......#...#....",
    "####...#####...#...#####",
];

fn main() -> Result<(), Box<dyn Error>> {
    let heat = slyz::compile(heat)?;
    if asked_about(&heat) {
        return Ok(());
    }
    let (n, m) = (160usize, 560usize);
    let plate: Vec<f32> = (0..n * m)
        .map(|p| {
            let (i, j) = (p / m / 14, (p % m) / 20);
            let hot = i.checked_sub(1).and_then(|i| LETTERS.get(i)?.as_bytes().get(j.checked_sub(2)?));
            if hot == Some(&b'#') { 1.0 } else { 0.0 }
        })
        .collect();
    let draw = slyz::compile(|u: Arr<f32, (N, M)>| u.map(glow))?;
    let mut u = heat.call((&plate, [n, m]), 1)?;
    check(&plate, &u.to_vec()?, m);
    let mut rgb = draw.call(&u)?.to_vec()?;
    for turns in [100, 900] {
        u = heat.call(&u, turns)?;
        rgb.extend(draw.call(&u)?.to_vec()?);
    }
    let before: f32 = plate.iter().sum();
    let after: f32 = u.to_vec()?.iter().sum();
    println!("heat on the plate before {before}, after 1001 turns {after}");
    assert!((after - before).abs() < 1e-3 * before, "no heat is lost");
    save("heat", [3 * n, m], &rgb)
}

/// The first turn, computed by hand.
fn check(plate: &[f32], stepped: &[f32], m: usize) {
    let n = plate.len() / m;
    for (p, &found) in stepped.iter().enumerate() {
        let (i, j) = (p / m, p % m);
        let at = |i: usize, j: usize| plate[i.min(n - 1) * m + j.min(m - 1)];
        let around = at(i.saturating_sub(1), j) + at(i + 1, j) + at(i, j.saturating_sub(1)) + at(i, j + 1);
        let expected = at(i, j) + 0.2 * (around - 4.0 * at(i, j));
        assert!((found - expected).abs() < 1e-6, "at {i}, {j}: {found} is not {expected}");
    }
}
