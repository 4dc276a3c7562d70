//! The Mandelbrot set, coloured and smoothed: nine loops per pixel, one kernel, the picture is its only output.
//!
//! `cargo run --release --example mandelbrot -- --out mandelbrot.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(Rows, Cols);

/// How many steps until `z² + c` leaves the circle of radius 16, and where it is then.
fn escape(cx: Exp<f32>, cy: Exp<f32>, most: u32) -> (Exp<f32>, Exp<f32>, Exp<u32>) {
    repeat_while(
        (0f32, 0f32, 0u32),
        |(x, y, n)| (x * x + y * y).lt(256.0) & n.lt(most),
        |(x, y, n)| (x * x - y * y + cx, 2.0 * x * y + cy, n + 1),
    )
}

/// Red, green and blue of a number of steps made continuous by how far the last one went.
fn colour((x, y, n): (Exp<f32>, Exp<f32>, Exp<u32>), most: u32) -> [Exp<f32>; 3] {
    let steps = n.cast::<f32>() + 2.0 - (x * x + y * y).max(256.0).log2().log2() + 1.0;
    let turn = steps.max(1.0).ln() * 1.25;
    [0.0f32, 0.45, 0.9].map(|phase| n.lt(most).select(0.5 - 0.5 * (turn * 2.6 + phase).cos(), 0.0))
}

/// The part of the plane around `(x, y)`, where a pixel is `pixel` wide. Each is the mean of 3 × 3 samples.
fn picture(x: Exp<f32>, y: Exp<f32>, pixel: Exp<f32>) -> Arr<[u8; 3], (Rows, Cols)> {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let total = sum(|(k, l): Pos<(Fix<3>, Fix<3>)>| {
            let cx = x + (j.to::<f32>() + l.to::<f32>() / 3.0 - cols * 0.5) * pixel;
            let cy = y + (i.to::<f32>() + k.to::<f32>() / 3.0 - rows * 0.5) * pixel;
            colour(escape(cx, cy, 1000), 1000)
        });
        // 43 shades of each colour are enough for the eye, and keep the file small.
        total.map(|c| (c * (42.0 / 9.0) + 0.5).cast::<u8>() * 6)
    })
}

/// The numbers of steps alone.
fn steps(x: Arr<f32, Cols>, y: Arr<f32, Rows>) -> Arr<u32, (Rows, Cols)> {
    tabulate(|(i, j)| escape(x.at(j), y.at(i), 256).2)
}

fn main() -> Result<(), Box<dyn Error>> {
    let draw = slyz::compile(picture)?;
    if asked_about(&draw) {
        return Ok(());
    }
    check()?;
    let (height, width) = (280, 448);
    let rgb = draw.size::<Rows>(height).size::<Cols>(width).call(-0.746_1, 0.124_35, 0.0086 / width as f32)?;
    save_flat("mandelbrot", [height, width], &rgb.to_vec()?)
}

/// The same numbers as plain Rust, and the area of the set that the books give.
fn check() -> Result<(), slyz::Error> {
    let (height, width) = (480usize, 640usize);
    let x: Vec<f32> = (0..width).map(|j| (j as f32 + 0.5) * 3.0 / width as f32 - 2.25).collect();
    let y: Vec<f32> = (0..height).map(|i| (i as f32 + 0.5) * 2.5 / height as f32 - 1.25).collect();
    let counts = slyz::compile(steps)?.call(&x, &y)?.to_vec()?;
    let plain = |cx: f32, cy: f32| {
        let (mut x, mut y, mut n) = (0f32, 0f32, 0);
        while x * x + y * y < 256.0 && n < 256 {
            (x, y, n) = (x * x - y * y + cx, 2.0 * x * y + cy, n + 1);
        }
        n
    };
    let differ = (0..height * width).filter(|&p| counts[p] != plain(x[p % width], y[p / width])).count();
    assert!(differ * 1000 < height * width, "{differ} pixels differ from plain Rust");
    let inside = counts.iter().filter(|&&n| n == 256).count() as f32;
    let area = inside / (height * width) as f32 * 3.0 * 2.5;
    println!("{differ} of {} pixels differ from plain Rust by rounding; the area is about {area:.3}", height * width);
    assert!((area - 1.5066).abs() < 0.03, "the area of the set is 1.5066, not {area}");
    Ok(())
}
