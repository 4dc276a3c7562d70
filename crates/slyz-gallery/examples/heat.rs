//! Heat spreading on a plate: a five-point stencil, called again and again. Only a tensor goes from call to call.
//!
//! `cargo run --release --example heat -- --out heat.png`

use indicatif::ProgressBar;
use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

axis!(N, M);

fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    u.stencil(Border::Clamp, |u| u((0, 0)) + 0.2 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0))))
}

/// Temperatures from 0 to 1 as colours from black through red to yellow: three polynomials.
fn glow(u: Arr<f32, (N, M)>) -> Arr<[u8; 3], (N, M)> {
    u.map(|t| {
        let t = t.clamp(0.0, 1.0);
        let red = horner(t, [0.0002, 0.1065, 11.6025, -41.704, 77.1629, -71.3194, 25.1311]);
        let green = horner(t, [0.0017, 0.564, -3.9729, 17.4364, -33.4024, 32.6261, -12.2427]);
        let blue = horner(t, [-0.0195, 3.9327, -15.9424, 44.3541, -81.8073, 73.2095, -23.0703]);
        [red, green, blue].map(|c| (c * 255.0 + 0.5).cast::<u8>())
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
    let step = slyz::compile(heat)?;
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
    let (n, m) = (160usize, 560usize);
    let plate: Vec<f32> = (0..n * m)
        .map(|p| {
            let (i, j) = (p / m / 14, (p % m) / 20);
            let hot = i.checked_sub(1).and_then(|i| LETTERS.get(i)?.as_bytes().get(j.checked_sub(2)?));
            if hot == Some(&b'#') { 1.0 } else { 0.0 }
        })
        .collect();
    let glow = slyz::compile(glow)?;
    let mut u = step.call((&plate, [n, m]))?;
    check(&plate, &u.to_vec()?, m);
    let mut rgb = glow.call(&u)?.to_vec()?;
    let bar = ProgressBar::new(1000);
    for done in 1..=1000 {
        u = step.call(&u)?;
        if done == 100 || done == 1000 {
            rgb.extend(glow.call(&u)?.to_vec()?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (before, after): (f32, f32) = (plate.iter().sum(), u.to_vec()?.iter().sum());
    println!("heat on the plate before {before}, after 1001 steps {after}");
    assert!((after - before).abs() < 1e-3 * before, "no heat is lost");
    save("heat", [3 * n, m], &rgb)
}

/// The first step, computed by hand.
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

/// Writes the picture to `--out FILE`, or else to the temporary directory.
fn save(name: &str, [height, width]: [usize; 2], rgb: &[[u8; 3]]) -> Result<(), Box<dyn Error>> {
    let out = std::env::args().skip_while(|arg| arg != "--out").nth(1);
    let file = out.map_or_else(|| std::env::temp_dir().join(format!("slyz-{name}.png")), PathBuf::from);
    let mut png = png::Encoder::new(BufWriter::new(File::create(&file)?), width as u32, height as u32);
    png.set_color(png::ColorType::Rgb);
    png.set_compression(png::Compression::High);
    png.write_header()?.write_image_data(rgb.as_flattened())?;
    println!("wrote {}", file.display());
    Ok(())
}
