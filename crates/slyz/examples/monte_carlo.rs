//! The price of a call option as the mean of a million random futures, beside the formula of Black and Scholes. The random numbers are made
//! where they are read, from a key and their place, so they are never stored, and every device has the same ones.
//!
//! `cargo run --release --example monte_carlo`

use slyz::prelude::*;

axis!(Strikes, Futures);

const SPOT: f32 = 100.0;
const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;

/// The price at each strike, and the standard error of it.
fn prices(strike: Arr<f32, Strikes>, years: Exp<f32>, key: Exp<u64>) -> Arr<(f32, f32), Strikes> {
    let luck = random::normal::<f32, Futures>(key);
    let drift = (RATE - 0.5 * VOLATILITY * VOLATILITY) * years;
    let spots = luck.map(|z| SPOT * (drift + VOLATILITY * years.sqrt() * z).exp());
    let count = Idx::<Futures>::extent().cast::<f32>();
    strike.map(|strike| {
        let paid = |future: Idx<Futures>| (-RATE * years).exp() * (spots.at(future) - strike).max(0.0);
        let [total, squares] = sum(|future| [paid(future), paid(future) * paid(future)]);
        let mean = total / count;
        (mean, ((squares / count - mean * mean) / count).sqrt())
    })
}

fn main() -> Result<(), slyz::Error> {
    let prices = slyz::compile(prices)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", prices.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", prices.explain());
            return Ok(());
        }
        _ => {}
    }
    let (strikes, years) = ([80.0f32, 90.0, 100.0, 110.0, 120.0], 1.0);
    let found = prices.size::<Futures>(1_000_000).call(&strikes, years, 7)?.to_vec()?;
    println!("strike   mean of futures     formula");
    for (&strike, &(price, error)) in strikes.iter().zip(&found) {
        let exact = black_scholes(f64::from(strike), f64::from(years));
        println!("{strike:6.1}  {price:7.3} ± {error:.3}   {exact:9.3}");
        assert!((f64::from(price) - exact).abs() < 4.0 * f64::from(error), "too far off to be bad luck");
        assert!(error < 0.05, "a million futures tell more than that");
    }
    Ok(())
}

/// The formula in double precision.
fn black_scholes(strike: f64, years: f64) -> f64 {
    let [spot, rate, volatility] = [SPOT, RATE, VOLATILITY].map(f64::from);
    let width = volatility * years.sqrt();
    let d = ((spot / strike).ln() + (rate + volatility * volatility / 2.0) * years) / width;
    spot * normal_cdf(d) - strike * (-rate * years).exp() * normal_cdf(d - width)
}

/// The normal distribution by Simpson's rule.
fn normal_cdf(x: f64) -> f64 {
    let n = 2000;
    let step = x / f64::from(n);
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
    0.5 + (0..=n).map(|i| weight(i) * density(f64::from(i) * step)).sum::<f64>() * step / 3.0
}
