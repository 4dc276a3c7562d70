//! What the programs of the gallery share: their options, their pictures, a colour for a number. The programs are in `examples`, apart
//! from those of `slyz` because of what they depend on.

use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// Answers `--source` and `--explain` about a function, and says whether one of them was asked for.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>| x * 2.0)?;
/// assert!(!slyz_gallery::asked_about(&f));
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn asked_about<Sig>(f: &Compiled<Sig>) -> bool {
    match std::env::args().nth(1).as_deref() {
        Some("--source") => println!("{}", f.source()),
        Some("--explain") => println!("{}", f.explain()),
        _ => return false,
    }
    true
}

/// Numbers from 0 to 1 as colours from black through red to yellow: three polynomials.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|t: Exp<f32>| slyz_gallery::glow(t)[0])?;
/// assert!(f.call(0.0)?.value()? < f.call(1.0)?.value()?);
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn glow(t: Exp<f32>) -> [Exp<u8>; 3] {
    let t = t.clamp(0.0, 1.0);
    let red = horner(t, [0.0002, 0.1065, 11.6025, -41.704, 77.1629, -71.3194, 25.1311]);
    let green = horner(t, [0.0017, 0.564, -3.9729, 17.4364, -33.4024, 32.6261, -12.2427]);
    let blue = horner(t, [-0.0195, 3.9327, -15.9424, 44.3541, -81.8073, 73.2095, -23.0703]);
    [red, green, blue].map(|c| (c * 255.0 + 0.5).cast::<u8>())
}

/// Writes the picture to `--out FILE`, or else to the temporary directory.
///
/// ```
/// slyz_gallery::save("dot", [1, 1], &[[255, 128, 0]])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(name: &str, size: [usize; 2], rgb: &[[u8; 3]]) -> Result<(), Box<dyn Error>> {
    write(name, size, rgb, png::Filter::Adaptive)
}

/// [`save`], for pictures of few colours: their rows compress best as they are.
///
/// ```
/// slyz_gallery::save_flat("dots", [1, 2], &[[255, 128, 0], [0, 0, 0]])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_flat(name: &str, size: [usize; 2], rgb: &[[u8; 3]]) -> Result<(), Box<dyn Error>> {
    write(name, size, rgb, png::Filter::NoFilter)
}

fn write(name: &str, [height, width]: [usize; 2], rgb: &[[u8; 3]], filter: png::Filter) -> Result<(), Box<dyn Error>> {
    let out = std::env::args().skip_while(|arg| arg != "--out").nth(1);
    let file = out.map_or_else(|| std::env::temp_dir().join(format!("slyz-{name}.png")), PathBuf::from);
    let mut png = png::Encoder::new(BufWriter::new(File::create(&file)?), width as u32, height as u32);
    png.set_color(png::ColorType::Rgb);
    png.set_compression(png::Compression::High);
    png.set_filter(filter);
    png.write_header()?.write_image_data(rgb.as_flattened())?;
    println!("wrote {}", file.display());
    Ok(())
}
