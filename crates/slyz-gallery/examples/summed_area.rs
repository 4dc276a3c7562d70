//! A photograph with the focus on one distance: each pixel is the mean of a square around it, the larger the further away it is from the
//! focus. After two scans, which add up all that is above and to the left, the sum of any rectangle is four reads.
//!
//! `cargo run --release --example summed_area -- --out summed_area.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;

axis!(Rows, Cols);

type Picture = Arr<[u8; 3], (Rows, Cols)>;
type Table = Arr<[u32; 3], (Rows, Cols)>;

/// The sum of all pixels above and to the left, the pixel itself included.
fn summed_area(photo: Picture) -> Table {
    let colours: Table = photo.map(|rgb| rgb.map(|c| c.cast::<u32>()));
    colours.over(Cols).scan(Sum).over(Rows).scan(Sum)
}

/// The mean of the square around a pixel, as much of it as is in the picture.
fn mean_around(table: Table, (i, j): Pos<(Rows, Cols)>, reach: Exp<i64>) -> [Exp<u8>; 3] {
    let (top, bottom) = ((i - reach).clamp(), (i + reach).clamp());
    let (left, right) = ((j - reach).clamp(), (j + reach).clamp());
    let all = table.at((bottom, right));
    let above = table.at_or((top - 1, right), [0, 0, 0]);
    let before = table.at_or((bottom, left - 1), [0, 0, 0]);
    let twice = table.at_or((top - 1, left - 1), [0, 0, 0]);
    let pixels = ((bottom.i64() - top.i64() + 1) * (right.i64() - left.i64() + 1)).cast::<u32>();
    [0, 1, 2].map(|c| ((all[c] - above[c] - before[c] + twice[c]) / pixels).cast::<u8>())
}

/// The picture with the row `focus` sharp, and the others the more blurred the further from it.
fn focused(photo: Picture, focus: Exp<i64>) -> Picture {
    let table = summed_area(photo);
    tabulate(|(i, j)| mean_around(table, (i, j), (i.i64() - focus).abs() / 8))
}

/// Discs of many colours on a plain, up to the horizon.
fn photo() -> Picture {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let (down, right) = (i.to::<f32>() / rows + 0.12, (j.to::<f32>() - 0.5 * cols) / rows);
        let (x, z) = (3.2 * right / down + 90.0, 3.2 / down);
        let (dx, dz) = (x - x.floor() - 0.5, z - z.floor() - 0.5);
        let lot = (x.floor() * 12.9898 + z.floor() * 78.233).sin().abs() * 19.0;
        let off = (dx * dx + dz * dz).sqrt();
        let lit = 0.6 + 0.4 * (1.0 - 2.0 * off).clamp(0.0, 1.0);
        // How much of the pixel, which shows the more of the plain the further away it is, lies on the disc.
        let disc = (0.5 + (0.4 - off) * rows * down * down / 3.2).clamp(0.0, 1.0);
        [0.0f32, 2.1, 4.2].map(|phase| {
            let ink = (0.55 + 0.45 * (lot + phase).cos()) * lit;
            let ground = 0.13 + 0.02 * phase;
            ((ground + (ink - ground) * disc) * 255.0 + 0.5).cast::<u8>()
        })
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let focused = slyz::compile(focused)?;
    if asked_about(&focused) {
        return Ok(());
    }
    let (height, width, focus) = (400, 640, 210);
    let photo = slyz::compile(photo)?.size::<Rows>(height).size::<Cols>(width).call()?;
    let rgb = focused.call(&photo, focus as i64)?.to_vec()?;
    check(&photo.to_vec()?, &rgb, [height, width], focus);
    save("summed_area", [height, width], &rgb)
}

/// Some of the means by loops over their squares. All numbers are whole, so they are the same to the last bit.
fn check(photo: &[[u8; 3]], rgb: &[[u8; 3]], [height, width]: [usize; 2], focus: usize) {
    for p in (0..rgb.len()).step_by(131) {
        let (i, j) = (p / width, p % width);
        let reach = i.abs_diff(focus) / 8;
        let rows = i.saturating_sub(reach)..=(i + reach).min(height - 1);
        let (left, right) = (j.saturating_sub(reach), (j + reach).min(width - 1));
        let square: Vec<[u8; 3]> =
            rows.flat_map(|row| &photo[row * width + left..=row * width + right]).copied().collect();
        let mean = [0, 1, 2].map(|c| square.iter().map(|rgb| u32::from(rgb[c])).sum::<u32>() / square.len() as u32);
        assert_eq!(rgb[p].map(u32::from), mean, "at {i}, {j}");
    }
    println!("{} pixels, squares up to {} wide, as by loops over them", rgb.len(), 2 * (focus / 8) + 1);
}
