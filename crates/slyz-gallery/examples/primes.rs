//! The primes by `filter`, whose length is known only when it has run, laid out on Ulam's spiral by `scatter`.
//!
//! `cargo run --release --example primes -- --out primes.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(N, Primes, Rows, Cols);

/// Each cell is 5 × 5 pixels.
type Pixels = (Flat<Rows, Fix<5>>, Flat<Cols, Fix<5>>);

#[slyz::function]
fn is_prime(n: Exp<u32>) -> Exp<bool> {
    let divisor = repeat_while(lit(2u32), |d: Exp<u32>| (d * d).le(n) & (n % d).ne(0), |d| d + 1);
    n.ge(2) & (divisor * divisor).gt(n)
}

/// The primes among the numbers below `N`.
fn primes() -> Arr<u32, Primes> {
    iota::<N>().filter(is_prime)
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
fn picture(primes: Arr<u32, Primes>) -> Arr<[u8; 3], Pixels> {
    let cells = scatter(MaxOf, |p: Idx<Primes>| {
        let (x, y) = spiral(primes.at(p));
        let (row, col) = (Idx::<Rows>::extent() / 2 - y.cast::<i64>(), Idx::<Cols>::extent() / 2 + x.cast::<i64>());
        ((Near::<Rows>::new(row), Near::<Cols>::new(col)), 1u8)
    });
    let company = cells.stencil(Border::Value(0), |cell| {
        let diagonal = |way: i32| (-5..=5).fold(lit(0u8), |n, k| n + cell((k, way * k)));
        diagonal(1).max(diagonal(-1))
    });
    tabulate(|(y, x): Pos<Pixels>| {
        let cell = (y.outer(), x.outer());
        let (dy, dx) = (y.inner().to::<f32>() - 2.0, x.inner().to::<f32>() - 2.0);
        let disc = ((6.0 - dx * dx - dy * dy) * 0.4).clamp(0.0, 1.0) * cells.at(cell).cast::<f32>();
        let warm = ((company.at(cell).cast::<f32>() - 1.0) / 5.0).clamp(0.0, 1.0);
        let ink = [0.22 + 0.78 * warm, 0.42 + 0.40 * warm * warm, 0.78 - 0.56 * warm];
        let ground = [0.05f32, 0.06, 0.10];
        [0, 1, 2].map(|c| ((ground[c] + disc * (ink[c] - ground[c])) * 255.0 + 0.5).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width) = (84, 128);
    let find = slyz::compile(primes)?.size::<N>(140 * 140);
    if asked_about(&find) {
        return Ok(());
    }
    let primes = find.call()?;
    println!("{} primes below {}", primes.len(), 140 * 140);
    check(&primes.to_vec()?, 140 * 140);
    assert_eq!(find.size::<N>(100_000).call()?.len(), 9592, "the primes below 100 000 have been counted before");
    let draw = slyz::compile(picture)?.size::<Rows>(height).size::<Cols>(width);
    save_flat("primes", [5 * height, 5 * width], &draw.call(&primes)?.to_vec()?)
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
