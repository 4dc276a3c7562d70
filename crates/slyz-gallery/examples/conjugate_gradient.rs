//! The potential of a few charges in a grounded box: Poisson's equation on a grid, solved by conjugate gradients until the residual
//! is small.
//!
//! `cargo run --release --example conjugate_gradient -- --out potential.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(N, M);

type Plate = Arr<f32, (N, M)>;

/// The Laplacian of a plate with a border of zeros.
fn laplacian(u: Plate) -> Plate {
    u.stencil(Border::Value(0.0), |u| 4.0 * u((0, 0)) - u((-1, 0)) - u((1, 0)) - u((0, -1)) - u((0, 1)))
}

/// Solves `laplacian(x) = b`: the solution, and how many turns it took.
fn solve(b: Plate) -> (Plate, Exp<u32>) {
    let start = (fill::<f32, (N, M)>(0.0), b, b, (b * b).sum(), 0u32);
    let small = 1e-10 * (b * b).sum();
    let (x, _, _, _, turns) = repeat_while(
        start,
        |(_, _, _, rr, turns)| rr.gt(small) & turns.lt(2000),
        |(x, r, p, rr, turns): (Plate, Plate, Plate, Exp<f32>, Exp<u32>)| {
            let ap = laplacian(p);
            let alpha = rr / (p * ap).sum();
            let r = r - alpha * ap;
            let next = (r * r).sum();
            (x + alpha * p, r, r + next / rr * p, next, turns + 1)
        },
    );
    (x, turns)
}

/// Positive potentials warm, negative ones cold, with lines where they are the same.
fn picture(u: Plate) -> Arr<[u8; 3], (N, M)> {
    let most = u.map(|u| u.abs()).max();
    // Near a charge the potential is steep: a root keeps the lines apart.
    let level = u.map(|u| 12.0 * u.sign() * (u.abs() / most).sqrt());
    level.stencil(Border::Clamp, |level| {
        let here = level((0, 0));
        let line = level((1, 0)).floor().ne(here.floor()) | level((0, 1)).floor().ne(here.floor());
        let t = here / 12.0;
        let warm = t.max(0.0);
        let cold = (-t).max(0.0);
        let shade = line.select(0.72, 1.0);
        [1.0 - 0.15 * warm - 0.85 * cold, 1.0 - 0.75 * warm - 0.5 * cold, 1.0 - 0.9 * warm - 0.15 * cold]
            .map(|c| (shade * c * 255.0).cast::<u8>())
    })
}

/// The residual, computed by plain loops, as a part of the right side.
fn residual(x: &[f32], b: &[f32], [n, m]: [usize; 2]) -> f64 {
    let at =
        |i: usize, j: usize| if (1..=n).contains(&i) && (1..=m).contains(&j) { x[(i - 1) * m + j - 1] } else { 0.0 };
    let mut off = 0.0;
    for i in 1..=n {
        for j in 1..=m {
            let around = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
            off += f64::from(b[(i - 1) * m + j - 1] - (4.0 * at(i, j) - around)).powi(2);
        }
    }
    (off / b.iter().map(|b| f64::from(*b).powi(2)).sum::<f64>()).sqrt()
}

fn main() -> Result<(), Box<dyn Error>> {
    let solve = slyz::compile(solve)?;
    if asked_about(&solve) {
        return Ok(());
    }
    let [n, m] = [240, 400];
    let mut charges = vec![0f32; n * m];
    for (i, j, charge) in [(70, 90, 1.0), (165, 140, -1.0), (110, 230, 1.6), (60, 320, -0.8), (185, 310, -0.9)] {
        charges[i * m + j] = charge;
    }
    let (x, turns) = solve.call((&charges, [n, m]))?;
    let left = residual(&x.to_vec()?, &charges, [n, m]);
    println!("{n} × {m} unknowns after {} turns: a residual of {left:.1e}", turns.value()?);
    assert!(left < 1e-4);
    save_flat("conjugate_gradient", [n, m], &slyz::compile(picture)?.call(&x)?.to_vec()?)
}
