//! A histogram in two dimensions: where the points of a strange attractor fall, a quarter of a million at a time.
//!
//! `cargo run --release --example histogram -- --out attractor.png`

use indicatif::ProgressBar;
use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

axis!(N, Rows, Cols);

type Points = Arr<[f32; 2], N>;

/// One turn of Peter de Jong's map; all of the plane lands in a square of side 4.
fn turn(points: Points) -> Points {
    let (a, b, c, d) = (1.4, -2.3, 2.4, -2.1);
    points.map(|[x, y]| [(y * a).sin() - (x * b).cos(), (x * c).sin() - (y * d).cos()])
}

/// How many points fall on each pixel: one more where `p` is, for every `p`.
fn histogram(points: Points) -> Arr<u32, (Rows, Cols)> {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    scatter(Sum, |i: Idx<N>| {
        let [x, y] = points.at(i);
        let (row, col) = (rows * 0.5 + y * rows * 0.235, cols * 0.5 + x * rows * 0.235);
        ((Near::<Rows>::new(row.floor().cast::<i32>()), Near::<Cols>::new(col.floor().cast::<i32>())), 1u32)
    })
}

fn step(points: Points, seen: Arr<u32, (Rows, Cols)>) -> (Points, Arr<u32, (Rows, Cols)>) {
    let points = turn(points);
    (points, seen + histogram(points))
}

/// Counts as colours, on a logarithmic scale from night over rose to white.
fn develop(seen: Arr<u32, (Rows, Cols)>) -> Arr<[u8; 3], (Rows, Cols)> {
    let most = seen.max().cast::<f32>().ln_1p();
    seen.map(|n| {
        // A hundred shades are enough for the eye, and keep the file small.
        let l = (n.cast::<f32>().ln_1p() / most * 100.0).round() / 100.0;
        [l.powf(1.15) * 1.35, l.powf(2.1) * 1.3, l.powf(1.1) * 0.85 + 0.07 + l.powf(5.0) * 0.3]
            .map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>())
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
    let (height, width, n, turns) = (360, 520, 1 << 18, 150);
    let points: Vec<[f32; 2]> =
        (0..n).map(|i| [(i % 512) as f32 / 256.0 - 1.0, (i / 512) as f32 / 256.0 - 1.0]).collect();
    // A few turns without counting, so that only the attractor is seen.
    let turn = slyz::compile(turn)?;
    let mut points = turn.call(&points)?;
    for _ in 0..20 {
        points = turn.call(&points)?;
    }
    check(&points, [height, width])?;
    let empty = Tensor::from_vec([height, width], vec![0u32; height * width])?;
    let (mut points, mut seen) = step.call(&points, &empty)?;
    let bar = ProgressBar::new(turns);
    for _ in 1..turns {
        (points, seen) = step.call(&points, &seen)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let counted: u64 = seen.to_vec()?.iter().map(|&count| u64::from(count)).sum();
    println!("{counted} points counted");
    assert_eq!(counted, n as u64 * turns, "every point is counted once");
    let rgb = slyz::compile(develop)?.call(&seen)?;
    save("histogram", [height, width], &rgb.to_vec()?)
}

/// The same counts as a plain loop.
fn check(points: &Tensor<[f32; 2], N>, [height, width]: [usize; 2]) -> Result<(), slyz::Error> {
    let count = slyz::compile(histogram)?.size::<Rows>(height).size::<Cols>(width);
    let (rows, cols) = (height as f32, width as f32);
    let mut plain = vec![0u32; height * width];
    for [x, y] in points.to_vec()? {
        let (row, col) = (rows * 0.5 + y * rows * 0.235, cols * 0.5 + x * rows * 0.235);
        plain[row as usize * width + col as usize] += 1;
    }
    assert_eq!(count.call(points)?.to_vec()?, plain);
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
