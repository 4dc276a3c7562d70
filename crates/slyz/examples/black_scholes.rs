//! Black-Scholes call prices: one fused kernel, `normcdf` kept as one function in the generated code.
//!
//! `cargo run --release --example black_scholes`

use slyz::prelude::*;

axis!(N);

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0
        - 0.398_942_3
            * (-l * l / 2.0).exp()
            * horner(k, [0.0, 0.319_381_53, -0.356_563_78, 1.781_477_9, -1.821_256, 1.330_274_5]);
    if x < 0.0 { 1.0 - w } else { w }
}

fn black_scholes(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (0.02, 0.30);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d2)
    })
}

fn main() -> Result<(), slyz::Error> {
    let price = slyz::compile(black_scholes)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", price.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", price.explain());
            return Ok(());
        }
        _ => {}
    }
    let spot: Vec<f32> = (0..1 << 16).map(|i| 80.0 + 40.0 * i as f32 / 65536.0).collect();
    let strike = vec![100.0f32; spot.len()];
    let years = vec![1.0f32; spot.len()];
    let call = price.call(&spot, &strike, &years)?.to_vec()?;
    for i in (0..spot.len()).step_by(1 << 13) {
        println!("spot {:6.2}  call {:6.3}", spot[i], call[i]);
    }
    assert!((call[1 << 15] - 12.8215).abs() < 1e-3, "at the money the price is known: {}", call[1 << 15]);
    Ok(())
}
