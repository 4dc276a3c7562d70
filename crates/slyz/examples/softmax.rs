//! Softmax over the rows of a matrix: one kernel, a row at a time.
//!
//! `cargo run --release --example softmax`

use slyz::prelude::*;

axis!(R, C);

fn softmax<R: Axis, C: Axis>(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

fn main() -> Result<(), slyz::Error> {
    let f = slyz::compile(softmax::<R, C>)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", f.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", f.explain());
            return Ok(());
        }
        _ => {}
    }
    let x: Vec<f32> = (0..1000 * 1000u64).map(|i| ((i * 7919) % 1000) as f32 / 50.0).collect();
    let y = f.call((&x, [1000, 1000]))?.to_vec()?;
    let sums: Vec<f32> = y.chunks(1000).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-4), "every row sums to 1");
    println!("{} rows, each sums to 1", sums.len());
    Ok(())
}
