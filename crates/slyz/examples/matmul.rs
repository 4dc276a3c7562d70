//! Matrix product for any sizes; a swapped index would be a compile error.
//!
//! `cargo run --release --example matmul`

use slyz::prelude::*;

axis!(N, M, K);

fn matmul<A: Axis, B: Axis, C: Axis>(a: Arr<f32, (A, B)>, b: Arr<f32, (B, C)>) -> Arr<f32, (A, C)> {
    tabulate(|(i, j)| sum(|k: Idx<B>| a.at((i, k)) * b.at((k, j))))
}

fn main() -> Result<(), slyz::Error> {
    let product = slyz::compile(matmul::<N, K, M>)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", product.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", product.explain());
            return Ok(());
        }
        _ => {}
    }
    let (n, k, m) = (37, 500, 41);
    let a: Vec<f32> = (0..n * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * m).map(|i| (i % 5) as f32 - 2.0).collect();
    let c = product.call((&a, [n, k]), (&b, [k, m]))?;
    let plain = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * m + j]).sum::<f32>();
    let c = c.to_vec()?;
    assert!((0..n * m).all(|p| c[p] == plain(p / m, p % m)), "whole numbers are exact");
    println!("{n} × {k} times {k} × {m}: the corner is {}", c[0]);
    Ok(())
}
