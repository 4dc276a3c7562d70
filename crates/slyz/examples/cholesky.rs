//! A symmetric system, solved by Cholesky's factor: each turn takes a root, scales a column and changes the triangle that is left.
//!
//! `cargo run --release --example cholesky`

use slyz::prelude::*;

axis!(N);

type Square = Arr<f32, (N, N)>;
type Line = Arr<f32, N>;

/// The lower `L` with `L Lᵀ = a`. What is above the diagonal stays as it was in `a`.
fn factor(a: Square) -> Square {
    for_each(a, |k: Idx<N>, a: Square| {
        let root = a.at((k, k)).sqrt();
        let column: Line = tabulate(|i: Idx<N>| {
            let below = i.gt(k).select(a.at((i, k)) / root, a.at((i, k)));
            i.eq(k).select(root, below)
        });
        let a = a.scatter_last(|i: Idx<N>| ((i, k), column.at(i)));
        tabulate(|(i, j)| {
            let left = i.gt(k) & j.gt(k) & j.le(i);
            left.select(a.at((i, j)) - column.at(i) * column.at(j), a.at((i, j)))
        })
    })
}

/// The `x` with `a x = b`, and the factor.
fn solve(a: Square, b: Line) -> (Line, Square) {
    let l = factor(a);
    let y = for_each(b, |i: Idx<N>, y: Line| {
        let known = sum(|j: Idx<N>| j.lt(i).select(l.at((i, j)) * y.at(j), 0.0));
        y.with(i, (y.at(i) - known) / l.at((i, i)))
    });
    let x = for_each(y, |i: Idx<N>, x: Line| {
        let i = i.reversed();
        let known = sum(|j: Idx<N>| j.gt(i).select(l.at((j, i)) * x.at(j), 0.0));
        x.with(i, (x.at(i) - known) / l.at((i, i)))
    });
    (x, l)
}

/// The definition, in plain Rust and double precision.
fn plain(a: &[f32], n: usize) -> Vec<f64> {
    let mut l = vec![0f64; n * n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let left = f64::from(a[i * n + j]) - known;
            l[i * n + j] = if i == j { left.sqrt() } else { left / l[j * n + j] };
        }
    }
    l
}

fn main() -> Result<(), slyz::Error> {
    let solve = slyz::compile(solve)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", solve.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", solve.explain());
            return Ok(());
        }
        _ => {}
    }
    // How alike the values of a smooth random function at two places are, and a little noise.
    let n = 100;
    let alike = |i: usize, j: usize| (-((i as f32 - j as f32) / 8.0).powi(2)).exp() + if i == j { 0.1 } else { 0.0 };
    let a: Vec<f32> = (0..n * n).map(|p| alike(p / n, p % n)).collect();
    let b: Vec<f32> = (0..n).map(|i| (i as f32 / 10.0).sin()).collect();
    let (x, l) = solve.call((&a, [n, n]), &b)?;
    let l = l.to_vec()?;
    for (p, exact) in plain(&a, n).iter().enumerate().filter(|(p, _)| p % n <= p / n) {
        assert!((f64::from(l[p]) - exact).abs() < 1e-4, "[{}, {}]: {} is not {exact}", p / n, p % n, l[p]);
    }
    let x = x.to_vec()?;
    let off = (0..n).map(|i| ((0..n).map(|j| a[i * n + j] * x[j]).sum::<f32>() - b[i]).abs()).fold(0.0, f32::max);
    println!("{n} equations: no side is off by more than {off:.1e}");
    assert!(off < 1e-4);
    Ok(())
}
