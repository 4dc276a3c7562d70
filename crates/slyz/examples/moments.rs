//! Mean and variance in one pass, with a monoid of one's own (Chan's formula), which is exact to the last places.
//!
//! `cargo run --release --example moments`

use slyz::prelude::*;

axis!(N);

fn moments(x: Arr<f32, N>) -> (Exp<f32>, Exp<f32>) {
    let chan = monoid((0f32, 0f32, 0f32), |(n, a, s), (m, b, t)| {
        let (k, d) = (n + m, b - a);
        let w = k.gt(0.0).select(m / k, 0.0);
        (k, a + d * w, s + t + d * d * n * w)
    });
    let (n, mean, s) = x.map(|x| (1f32, x, 0f32)).fold(chan);
    (mean, s / n)
}

fn main() -> Result<(), slyz::Error> {
    let f = slyz::compile(moments)?;
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
    // Far from zero, where summing squares would lose everything.
    let x: Vec<f32> = (0..1_000_000).map(|i| 10_000.0 + (i % 100) as f32).collect();
    let (mean, variance) = f.call(&x)?;
    let (mean, variance) = (mean.value()?, variance.value()?);
    println!("mean {mean}, variance {variance}");
    assert!((mean - 10_049.5).abs() < 0.01 && (variance - 833.25).abs() < 0.1);
    Ok(())
}
