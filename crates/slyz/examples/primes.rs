//! The primes by `filter`, whose length is known only when it has run, laid out on Ulam's spiral by `scatter`.
//!
//! `cargo run --release --example primes -- --out primes.png`

use slyz::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

axis!(N, Primes, Rows, Cols);

#[slyz::function]
fn is_prime(n: Exp<u32>) -> Exp<bool> {
    let divisor = repeat_while(lit(2u32), |d: Exp<u32>| (d * d).le(n) & (n % d).ne(0), |d| d + 1);
    n.ge(2) & (divisor * divisor).gt(n)
}

/// The primes among the numbers below `N`, and how many there are.
fn primes() -> (Arr<u32, Primes>, Exp<u64>) {
    let primes = iota::<N>().filter::<Primes>(is_prime);
    (primes, primes.map(|_| lit(true)).count())
}

/// Where a number lies on the spiral that starts in the middle, goes right and turns left.
#[slyz::function]
fn spiral(n: Exp<u32>) -> (Exp<i32>, Exp<i32>) {
    let n = n.cast::<i32>() - 1;
    // The ring, and how far along its last side the number is.
    let k = ((n.cast::<f32>().sqrt() - 1.0) / 2.0).ceil().cast::<i32>();
    let (side, last) = (2 * k, (2 * k + 1) * (2 * k + 1) - 1);
    let back = last - n;
    if back < side {
        (k, k - back)
    } else if back < 2 * side {
        (k - (back - side), -k)
    } else if back < 3 * side {
        (-k, back - 2 * side - k)
    } else {
        (back - 3 * side - k, k)
    }
}

/// A disc for every prime on the spiral; the more primes on a diagonal through it, the brighter.
fn picture(primes: Arr<u32, Primes>) -> Arr<[u8; 3], (Flat<Rows, Fix<4>>, Flat<Cols, Fix<4>>)> {
    let cells = scatter(MaxOf, |p: Idx<Primes>| {
        let (x, y) = spiral(primes.at(p));
        let (row, col) = (Idx::<Rows>::extent() / 2 - y.cast::<i64>(), Idx::<Cols>::extent() / 2 + x.cast::<i64>());
        ((Near::<Rows>::new(row), Near::<Cols>::new(col)), 1u8)
    });
    let company = cells.stencil(Border::Value(0), |cell| {
        let diagonal = |way: i32| (-5..=5).fold(lit(0u8), |n, k| n + cell((k, way * k)));
        diagonal(1).max(diagonal(-1))
    });
    tabulate(|(y, x): Pos<(Flat<Rows, Fix<4>>, Flat<Cols, Fix<4>>)>| {
        let cell = (y.outer(), x.outer());
        let (dy, dx) = (y.inner().to::<f32>() - 1.5, x.inner().to::<f32>() - 1.5);
        let disc = ((3.2 - dx * dx - dy * dy) * 0.5).clamp(0.0, 1.0) * cells.at(cell).cast::<f32>();
        let warm = ((company.at(cell).cast::<f32>() - 1.0) / 6.0).clamp(0.0, 1.0);
        let ink = [0.24 + 0.76 * warm, 0.34 + 0.48 * warm * warm, 0.62 - 0.40 * warm];
        let ground = [0.05f32, 0.06, 0.10];
        [0, 1, 2].map(|c| ((ground[c] + disc * (ink[c] - ground[c])) * 255.0 + 0.5).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width) = (100, 150);
    let find = slyz::compile(primes)?.size::<N>(160 * 160);
    if std::env::args().any(|arg| arg == "--source") {
        println!("{}", find.source());
        return Ok(());
    }
    let (primes, count) = find.call()?;
    println!("{} primes below {}", count.value()?, 160 * 160);
    check(&primes.to_vec()?, 160 * 160);
    assert_eq!(find.size::<N>(100_000).call()?.1.value()?, 9592, "the primes below 100 000 have been counted before");
    let draw = slyz::compile(picture)?.size::<Rows>(height).size::<Cols>(width);
    save("primes", [4 * height, 4 * width], &draw.call(&primes)?.to_vec()?)
}

/// The sieve of Eratosthenes.
fn check(primes: &[u32], below: usize) {
    let mut is_prime = vec![true; below];
    let mut plain = vec![];
    for n in 2..below {
        if is_prime[n] {
            plain.push(n as u32);
            (n * n..below).step_by(n).for_each(|multiple| is_prime[multiple] = false);
        }
    }
    assert_eq!(primes, plain);
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
