//! A Gaussian blur of a picture, once along the rows and once along the columns, with weights that come as an array.
//! The photograph is generated: hills in the haze under an evening sky, from folded noise.
//!
//! `cargo run --release --example blur -- --out blur.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;

axis!(Rows, Cols, Taps);

type Picture = Arr<[f32; 3], (Rows, Cols)>;

/// `f` of each tap, weighted and added up.
fn weighted(weights: Arr<f32, Taps>, f: impl Fn(Exp<i64>) -> [Exp<f32>; 3]) -> [Exp<f32>; 3] {
    sum(|k: Idx<Taps>| f(k.i64() - Idx::<Taps>::extent() / 2).map(|c| c * weights.at(k)))
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
            ((shown + (2.0 - side.abs()).clamp(0.0, 1.0)).clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>()
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
    iterate(5, (0f32, 1f32), |_, (total, k): (Exp<f32>, Exp<f32>)| {
        (total + noise(x * k, y * k + 17.0 * k) / k, k * 2.0)
    })
    .0 * 0.516
}

fn mix(a: [Exp<f32>; 3], b: [Exp<f32>; 3], k: Exp<f32>) -> [Exp<f32>; 3] {
    [0, 1, 2].map(|c| a[c] * (1.0 - k) + b[c] * k)
}

/// Hills behind hills, paler with distance, in the nearest a village with its lights on; clouds, and a low sun.
fn photo() -> Picture {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let (y, x) = (i.to::<f32>() / rows, j.to::<f32>() / rows);
        let (dx, dy) = (x - 0.30 * cols / rows, y - 0.27);
        let sun = dx * dx + dy * dy;
        let [day, dusk, pink, glow, disc] =
            [[0.13f32, 0.22, 0.46], [0.99, 0.64, 0.36], [0.98, 0.70, 0.58], [1.0, 0.84, 0.56], [1.0, 0.97, 0.86]]
                .map(|colour| colour.map(lit));
        let mut sky = mix(day, dusk, (y * 1.9 + 0.1).clamp(0.0, 1.0));
        let cloud = ((rough(x * 2.2, y * 9.0) - 0.46) * 5.0).clamp(0.0, 1.0) * (1.2 - y * 1.8).clamp(0.0, 1.0);
        sky = mix(sky, pink, cloud * 0.65);
        sky = mix(sky, glow, (sun * -40.0).exp() * 0.7);
        sky = mix(sky, disc, ((0.0030 - sun) * 4000.0).clamp(0.0, 1.0));
        let land = iterate(5, sky, |hill, behind: [Exp<f32>; 3]| {
            let near = hill.cast::<f32>() * 0.25;
            let shape = rough(x * (1.3 + 0.5 * near) + 31.0 * near, 0.5 + 7.0 * near);
            let trees = (rough(x * 40.0, 3.0 + near) - 0.4) * 0.07 * near * near;
            let crest = 0.36 + 0.47 * near + (0.5 - shape) * 0.42 - trees;
            let light = (rough(x * 16.0, y * 26.0 + 5.0 * near) - 0.3) * (0.05 + 0.30 * near);
            let haze = ((y - crest) * 2.4).clamp(0.0, 0.6) * (1.0 - near);
            let rock = [0.52 - 0.44 * near + light, 0.38 - 0.28 * near + light * 0.8, 0.50 - 0.39 * near + light * 0.5];
            mix(behind, mix(rock, pink, haze), ((y - crest) * rows).clamp(0.0, 1.0))
        });
        // A window in a few cells of a grid, where the valley is.
        let (u, v) = (x * 34.0, y * 34.0);
        let lamp = dice(u.floor() + 90.0, v.floor());
        let (du, dv) = (u - u.floor() - 0.3 - lamp * 4.0, v - v.floor() - 0.5);
        let on = lamp.lt(0.09) & y.gt(0.80) & y.lt(0.97);
        let shine = on.select(((0.03 - du * du - dv * dv) * 90.0).clamp(0.0, 1.0), 0.0);
        mix(land, glow.map(|c| c * 3.0), shine)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let both = slyz::compile(both)?;
    if asked_about(&both) {
        return Ok(());
    }
    let (height, width) = (320, 520);
    let photo = slyz::compile(photo)?.size::<Rows>(height).size::<Cols>(width).call()?;
    let weights = bell(3.0);
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
