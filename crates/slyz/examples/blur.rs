//! A Gaussian blur of a picture, once along the rows and once along the columns, with weights that come as an array.
//! The photograph is generated: hills in the haze under an evening sky, from folded noise.
//!
//! `cargo run --release --example blur -- --out blur.png`

use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

axis!(Rows, Cols, Taps);

type Picture = Arr<[f32; 3], (Rows, Cols)>;

/// `f` of each tap, weighted and added up.
fn weighted(weights: Arr<f32, Taps>, f: impl Fn(Exp<i64>) -> [Exp<f32>; 3]) -> [Exp<f32>; 3] {
    let add = monoid([0f32; 3], |[r, g, b], [s, h, c]| [r + s, g + h, b + c]).commutative();
    fold(add, |k: Idx<Taps>| f(k.i64() - Idx::<Taps>::extent() / 2).map(|c| c * weights.at(k)))
}

/// Along the columns of what is blurred along the rows. Outside, the border goes on.
fn blur(photo: Picture, weights: Arr<f32, Taps>) -> Picture {
    let rows: Picture = tabulate(|(i, j)| weighted(weights, |k| photo.at((i, (j + k).clamp()))));
    tabulate(|(i, j)| weighted(weights, |k| rows.at(((i + k).clamp(), j))))
}

/// The picture before and after, cut along a slanted line.
fn both(photo: Picture, weights: Arr<f32, Taps>) -> Arr<[u8; 3], (Rows, Cols)> {
    let soft = blur(photo, weights);
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    photo.map_at(|(i, j), sharp| {
        let side = j.to::<f32>() - cols * 0.5 + (i.to::<f32>() - rows * 0.5) * 0.3;
        let soft = soft.at((i, j));
        [0, 1, 2].map(|c| {
            let shown = side.lt(0.0).select(sharp[c], soft[c]);
            (side.abs().lt(1.2).select(1.0, shown).clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>()
        })
    })
}

/// A number from 0 to 1 that belongs to a point of the grid.
#[slyz::function]
fn dice(x: Exp<f32>, y: Exp<f32>) -> Exp<f32> {
    let h = x.cast::<i32>().bitcast::<u32>() * 0x9E37_79B1 + y.cast::<i32>().bitcast::<u32>() * 0x85EB_CA77;
    let h = (h ^ (h >> 15)) * 0x2C1B_3C6D;
    let h = (h ^ (h >> 12)) * 0x297A_2D39;
    ((h ^ (h >> 15)) >> 8).cast::<f32>() / 16_777_216.0
}

/// Smooth noise between the dice of the grid.
#[slyz::function]
fn noise(x: Exp<f32>, y: Exp<f32>) -> Exp<f32> {
    let (i, j) = (x.floor(), y.floor());
    let smooth = |t: Exp<f32>| t * t * (3.0 - 2.0 * t);
    let (u, v) = (smooth(x - i), smooth(y - j));
    let top = dice(i, j) * (1.0 - u) + dice(i + 1.0, j) * u;
    let bottom = dice(i, j + 1.0) * (1.0 - u) + dice(i + 1.0, j + 1.0) * u;
    top * (1.0 - v) + bottom * v
}

/// Noise of five scales.
#[slyz::function]
fn rough(x: Exp<f32>, y: Exp<f32>) -> Exp<f32> {
    let mut total = lit(0.0f32);
    for octave in 0..5 {
        let k = f32::powi(2.0, octave);
        total += noise(x * k, y * k + 17.0 * k) / k;
    }
    total * 0.516
}

/// Hills behind hills, paler with distance; above them clouds before the evening sky and a low sun.
fn photo() -> Picture {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let (y, x) = (i.to::<f32>() / rows, j.to::<f32>() / rows);
        let mix = |a: [Exp<f32>; 3], b: [f32; 3], k: Exp<f32>| [0, 1, 2].map(|c| a[c] * (1.0 - k) + b[c] * k);
        let (dx, dy) = (x - 0.62 * cols / rows, y - 0.50);
        let sun = dx * dx + dy * dy;
        let mut colour = mix([0.16f32, 0.24, 0.46].map(lit), [0.99, 0.64, 0.36], (y * 1.7).clamp(0.0, 1.0));
        let cloud = ((rough(x * 2.0, y * 7.0) - 0.5) * 4.0).clamp(0.0, 1.0) * (1.1 - y * 1.6).clamp(0.0, 1.0);
        colour = mix(colour, [0.98, 0.74, 0.62], cloud * 0.7);
        colour = mix(colour, [1.0, 0.86, 0.60], (-sun * 60.0).exp() * 0.8);
        colour = mix(colour, [1.0, 0.97, 0.86], ((0.0042 - sun) * 2000.0).clamp(0.0, 1.0));
        for hill in 0..5 {
            let near = hill as f32 / 4.0;
            let shape = rough(x * (1.2 + 0.5 * near) + 31.0 * near, lit(0.5 + 7.0 * near));
            let trees = rough(x * 30.0, lit(3.0 + near)) * 0.05 * near * near;
            let crest = 0.34 + 0.48 * near + (0.5 - shape) * 0.42 - trees;
            let light = rough(x * 9.0, y * 14.0 + 5.0 * near) * 0.22 * near;
            let haze = ((y - crest) * 2.2).clamp(0.0, 0.5) * (1.0 - near);
            let rock = [0.55 - 0.47 * near, 0.40 - 0.29 * near, 0.50 - 0.38 * near].map(|c| c + light * (0.9 - 0.3 * near));
            let rock = mix(rock, [0.96, 0.66, 0.50], haze);
            let edge = ((y - crest) * rows).clamp(0.0, 1.0);
            colour = [0, 1, 2].map(|c| colour[c] * (1.0 - edge) + rock[c] * edge);
        }
        colour
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let both = slyz::compile(both)?;
    if std::env::args().any(|arg| arg == "--source") {
        println!("{}", both.source());
        return Ok(());
    }
    let (height, width) = (320, 520);
    let photo = slyz::compile(photo)?.size::<Rows>(height).size::<Cols>(width).call()?;
    let weights = bell(4.0);
    check(&photo, [height, width], &weights)?;
    save("blur", [height, width], &both.call(&photo, &weights)?.to_vec()?)
}

/// A Gaussian of that width, in whole pixels, whose weights add up to 1.
fn bell(sigma: f32) -> Vec<f32> {
    let reach = (3.0 * sigma).ceil() as i32;
    let weights: Vec<f32> = (-reach..=reach).map(|k| (-((k * k) as f32) / (2.0 * sigma * sigma)).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// The same blur in plain Rust, both directions at once.
fn check(photo: &Tensor<[f32; 3], (Rows, Cols)>, [h, w]: [usize; 2], weights: &Vec<f32>) -> Result<(), slyz::Error> {
    let soft = slyz::compile(blur)?.call(photo, weights)?.to_vec()?;
    let sharp = photo.to_vec()?;
    let reach = weights.len() / 2;
    let mut worst = 0f32;
    for p in (0..h * w).step_by(997) {
        for c in 0..3 {
            let mut expected = 0f64;
            for (k, down) in weights.iter().enumerate() {
                for (l, right) in weights.iter().enumerate() {
                    let i = (p / w + k).saturating_sub(reach).min(h - 1);
                    let j = (p % w + l).saturating_sub(reach).min(w - 1);
                    expected += f64::from(down * right * sharp[i * w + j][c]);
                }
            }
            worst = worst.max((expected as f32 - soft[p][c]).abs());
        }
    }
    println!("{} taps, separable, against plain Rust: off by at most {worst:e}", weights.len());
    assert!(worst < 1e-5, "the blur is off by {worst}");
    Ok(())
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
