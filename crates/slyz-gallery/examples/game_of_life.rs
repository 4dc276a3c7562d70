//! Conway's game of life on a torus: a stencil over bytes, and a glow where cells have lived.
//!
//! `cargo run --release --example game_of_life -- --out life.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(Rows, Cols);

type Field<T> = Arr<T, (Rows, Cols)>;
type Life = fn(Field<u8>, Exp<u32>) -> (Field<u8>, Field<f32>);
/// Each cell is 3 × 3 pixels.
type Pixels = (Flat<Rows, Fix<3>>, Flat<Cols, Fix<3>>);

/// The next generation: a cell lives with three neighbours, or with two if it lived before.
fn next(cells: Field<u8>) -> Field<u8> {
    cells.stencil(Border::Wrap, |c| {
        let around =
            c((-1, -1)) + c((-1, 0)) + c((-1, 1)) + c((0, -1)) + c((0, 1)) + c((1, -1)) + c((1, 0)) + c((1, 1));
        (around | c((0, 0))).eq(3).cast::<u8>()
    })
}

/// Many generations: the last one, and what is left of the light of all before it.
fn live(cells: Field<u8>, generations: Exp<u32>) -> (Field<u8>, Field<f32>) {
    let dark: Field<f32> = fill(0.0);
    iterate(generations, (cells, dark), |_, (cells, glow): (Field<u8>, Field<f32>)| {
        let cells = next(cells);
        (cells, zip((cells, glow)).map(|(alive, glow)| alive.eq(1).select(1.0, glow * 0.993)))
    })
}

/// Living cells bright, old light from teal to night.
fn picture(cells: Field<u8>, glow: Field<f32>) -> Arr<[u8; 3], Pixels> {
    tabulate(|(y, x): Pos<Pixels>| {
        let p = (y.outer(), x.outer());
        let (alive, g) = (cells.at(p).eq(1), glow.at(p));
        let night =
            [9.0 + 20.0 * g + 30.0 * g * g * g, 12.0 + 20.0 * g + 130.0 * g * g, 30.0 + 150.0 * g - 20.0 * g * g];
        let day = [255.0f32, 236.0, 170.0];
        [0, 1, 2].map(|c| alive.select(day[c], night[c]).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let live = slyz::compile(live)?;
    if asked_about(&live) {
        return Ok(());
    }
    check(&live)?;
    let (height, width) = (140, 240);
    let mut cells = vec![0u8; height * width];
    // Three acorns: seven cells each, of which one alone would need 5206 generations to settle.
    for (top, left) in [(40, 60), (60, 190), (100, 120)] {
        for (i, j) in [(0, 1), (1, 3), (2, 0), (2, 1), (2, 4), (2, 5), (2, 6)] {
            cells[(top + i) * width + left + j] = 1;
        }
    }
    let (cells, glow) = live.call((&cells, [height, width]), 1200)?;
    let alive = cells.to_vec()?.iter().filter(|&&cell| cell == 1).count();
    println!("three acorns have grown from 21 to {alive} cells in 1200 generations");
    let rgb = slyz::compile(picture)?.call(&cells, &glow)?;
    save_flat("game_of_life", [3 * height, 3 * width], &rgb.to_vec()?)
}

/// A soup agrees with plain Rust, and a glider that crosses the border comes back where it started.
fn check(live: &Compiled<Life>) -> Result<(), slyz::Error> {
    let (height, width) = (50usize, 70usize);
    let soup: Vec<u8> = (0..height * width).map(|p| (p * p / 7 % 3 == 0) as u8).collect();
    let plain: Vec<u8> = (0..height * width)
        .map(|p| {
            let cell = |i: usize, j: usize| soup[(p / width + i) % height * width + (p % width + j) % width];
            let (up, left) = (height - 1, width - 1);
            let near = [(up, left), (up, 0), (up, 1), (0, left), (0, 1), (1, left), (1, 0), (1, 1)];
            let around: u8 = near.iter().map(|&(i, j)| cell(i, j)).sum();
            (around == 3 || around == 2 && cell(0, 0) == 1) as u8
        })
        .collect();
    assert_eq!(live.call((&soup, [height, width]), 1)?.0.to_vec()?, plain);

    let mut glider = vec![0u8; 16 * 16];
    for p in [1, 18, 32, 33, 34] {
        glider[p] = 1;
    }
    let (cells, _) = live.call((&glider, [16, 16]), 4 * 16)?;
    assert_eq!(cells.to_vec()?, glider, "a glider goes one cell down and right in four generations");
    Ok(())
}
