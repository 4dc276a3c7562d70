//! Option Greeks by finite differences: the pricing function is called eight times per option, at shifted inputs, and
//! the compiler shares what the calls have in common.
//!
//! `cargo run --release --example greeks`

use slyz::prelude::*;

axis!(N);

const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.30;

#[slyz::function]
fn normcdf(x: Exp<f64>) -> Exp<f64> {
    0.5 + 0.5 * (x * std::f64::consts::FRAC_1_SQRT_2).erf()
}

#[slyz::function]
fn price(s: Exp<f64>, k: Exp<f64>, t: Exp<f64>, r: Exp<f64>, v: Exp<f64>) -> Exp<f64> {
    let width = v * t.sqrt();
    let d1 = ((s / k).ln() + (r + v * v * 0.5) * t) / width;
    s * normcdf(d1) - k * (-r * t).exp() * normcdf(d1 - width)
}

/// Price, delta, gamma, vega, theta and rho of each option.
fn greeks(spot: Arr<f64, N>, strike: Arr<f64, N>, years: Arr<f64, N>) -> Arr<[f64; 6], N> {
    zip((spot, strike, years)).map(|(s, k, t)| {
        let (r, v) = (lit(RATE), lit(VOLATILITY));
        let (ds, dv, dt, dr) = (s * 1e-3, 1e-4, 1e-4, 1e-4);
        let (down, here, up) = (price(s - ds, k, t, r, v), price(s, k, t, r, v), price(s + ds, k, t, r, v));
        [
            here,
            (up - down) / (2.0 * ds),
            (up - 2.0 * here + down) / (ds * ds),
            (price(s, k, t, r, v + dv) - price(s, k, t, r, v - dv)) / (2.0 * dv),
            (price(s, k, t - dt, r, v) - here) / dt,
            (price(s, k, t, r + dr, v) - price(s, k, t, r - dr, v)) / (2.0 * dr),
        ]
    })
}

fn main() -> Result<(), slyz::Error> {
    let f = slyz::compile(greeks)?;
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
    let spot: Vec<f64> = (0..9).map(|i| 80.0 + 5.0 * i as f64).collect();
    let strike = vec![100.0; spot.len()];
    let years = vec![1.0; spot.len()];
    let table = f.call(&spot, &strike, &years)?.to_vec()?;
    println!("   spot    price    delta    gamma     vega    theta      rho");
    for (s, row) in spot.iter().zip(&table) {
        println!("{s:7.2}{}", row.iter().map(|x| format!("{x:9.4}")).collect::<String>());
    }
    for (&s, [_, delta, gamma, vega, theta, rho]) in spot.iter().zip(&table) {
        let (r, v, k, t) = (RATE, VOLATILITY, 100.0, 1.0f64);
        let d1 = ((s / k).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        let density = (-d1 * d1 / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let discounted = k * (-r * t).exp();
        let close = |name: &str, found: &f64, exact: f64| {
            assert!((found - exact).abs() < 1e-3 * (1.0 + exact.abs()), "{name} at {s}: {found}, but exactly {exact}");
        };
        close("delta", delta, cdf(d1));
        close("gamma", gamma, density / (s * v * t.sqrt()));
        close("vega", vega, s * density * t.sqrt());
        close("theta", theta, -s * density * v / (2.0 * t.sqrt()) - r * discounted * cdf(d2));
        close("rho", rho, t * discounted * cdf(d2));
    }
    println!("all within a thousandth of the exact derivatives");
    Ok(())
}

/// The normal distribution by Simpson's rule, independent of `erf`.
fn cdf(x: f64) -> f64 {
    let (n, density) = (2000, |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt());
    let h = x / n as f64;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    0.5 + (0..=n).map(|i| weight(i) * density(i as f64 * h)).sum::<f64>() * h / 3.0
}
