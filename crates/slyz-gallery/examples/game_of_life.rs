//! Conway's game of life on a torus: a stencil over bytes, and a glow where cells have lived.
//!
//! `cargo run --release --example game_of_life -- --out life.png`

use indicatif::ProgressBar;
use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

axis!(Rows, Cols);

type Field<T> = Arr<T, (Rows, Cols)>;
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

/// A generation, and what is left of the light of all before it.
fn step(cells: Field<u8>, glow: Field<f32>) -> (Field<u8>, Field<f32>) {
    let cells = next(cells);
    (cells, zip((cells, glow)).map(|(alive, glow)| alive.eq(1).select(1.0, glow * 0.993)))
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
    let step = slyz::compile(step)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", step.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", step.explain());
            return Ok(());
        }
        _ => {}
    }
    check()?;
    let (height, width) = (140, 240);
    let mut cells = vec![0u8; height * width];
    // Three acorns: seven cells each, of which one alone would need 5206 generations to settle.
    for (top, left) in [(40, 60), (60, 190), (100, 120)] {
        for (i, j) in [(0, 1), (1, 3), (2, 0), (2, 1), (2, 4), (2, 5), (2, 6)] {
            cells[(top + i) * width + left + j] = 1;
        }
    }
    let glow = vec![0f32; height * width];
    let (mut cells, mut glow) = step.call((&cells, [height, width]), (&glow, [height, width]))?;
    let generations = ProgressBar::new(1200);
    for _ in 1..1200 {
        (cells, glow) = step.call(&cells, &glow)?;
        generations.inc(1);
    }
    generations.finish_and_clear();
    let alive = cells.to_vec()?.iter().filter(|&&cell| cell == 1).count();
    println!("three acorns have grown from 21 to {alive} cells in 1200 generations");
    let rgb = slyz::compile(picture)?.call(&cells, &glow)?;
    save("game_of_life", [3 * height, 3 * width], &rgb.to_vec()?)
}

/// A soup agrees with plain Rust, and a glider that crosses the border comes back where it started.
fn check() -> Result<(), slyz::Error> {
    let next = slyz::compile(next)?;
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
    assert_eq!(next.call((&soup, [height, width]))?.to_vec()?, plain);

    let mut glider = vec![0u8; 16 * 16];
    for p in [1, 18, 32, 33, 34] {
        glider[p] = 1;
    }
    let mut cells = next.call((&glider, [16, 16]))?;
    for _ in 1..4 * 16 {
        cells = next.call(&cells)?;
    }
    assert_eq!(cells.to_vec()?, glider, "a glider goes one cell down and right in four generations");
    Ok(())
}

/// Writes the picture to `--out FILE`, or else to the temporary directory.
fn save(name: &str, [height, width]: [usize; 2], rgb: &[[u8; 3]]) -> Result<(), Box<dyn Error>> {
    let out = std::env::args().skip_while(|arg| arg != "--out").nth(1);
    let file = out.map_or_else(|| std::env::temp_dir().join(format!("slyz-{name}.png")), PathBuf::from);
    let mut png = png::Encoder::new(BufWriter::new(File::create(&file)?), width as u32, height as u32);
    png.set_color(png::ColorType::Rgb);
    png.set_compression(png::Compression::High);
    png.set_filter(png::Filter::NoFilter); // few colours: rows compress best as they are
    png.write_header()?.write_image_data(rgb.as_flattened())?;
    println!("wrote {}", file.display());
    Ok(())
}
