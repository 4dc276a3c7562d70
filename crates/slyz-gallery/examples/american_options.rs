//! American puts on a binomial tree, from its last step back to its first. Each option has a loop of its own, inside of one kernel.
//!
//! `cargo run --release --example american_options -- --out puts.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;

axis!(N, Years, Spots, Rows);

const RATE: f32 = 0.06;
const VOLATILITY: f32 = 0.3;
const STRIKE: f32 = 100.0;

/// What one put is worth: `N - 1` steps of a tree whose node `[step, j]` has gone up `j` times.
fn put(spot: Exp<f32>, years: Exp<f32>) -> Exp<f32> {
    let steps = Idx::<N>::extent().cast::<f32>() - 1.0;
    let dt = years / steps;
    let height = VOLATILITY * dt.sqrt();
    let up = height.exp();
    let down = (-height).exp();
    let grows = (RATE * dt).exp();
    let p = (grows - down) / (up - down);
    let win = p / grows;
    let lose = (1.0 - p) / grows;
    let paid = |step: Exp<f32>, j: Idx<N>| (STRIKE - spot * (height * (2.0 * j.to::<f32>() - step)).exp()).max(0.0);
    let last: Arr<f32, N> = tabulate(|j| paid(steps, j));
    let first = iterate(steps.cast::<u32>(), last, |turn, v: Arr<f32, N>| {
        let step = steps - 1.0 - turn.cast::<f32>();
        tabulate(|j: Idx<N>| {
            let kept = win * v.at((j + 1).clamp()) + lose * v.at(j);
            kept.max(paid(step, j))
        })
    });
    first.get(0).clamp()
}

fn puts(years: Arr<f32, Years>, spots: Arr<f32, Spots>) -> Arr<f32, (Years, Spots)> {
    tabulate(|(t, s)| put(spots.at(s), years.at(t)))
}

/// Prices by spot, one line for each number of years, on what is paid at once.
fn chart(prices: Arr<f32, (Years, Spots)>, spots: Arr<f32, Spots>) -> Arr<[u8; 3], (Rows, Spots)> {
    let rows = Idx::<Rows>::extent().cast::<f32>();
    tabulate(|(i, x): Pos<(Rows, Spots)>| {
        let y = i.to::<f32>() + 0.5;
        let height = |price: Exp<f32>| rows * (0.95 - 0.9 * price / 60.0);
        let paid = height((STRIKE - spots.at(x)).max(0.0));
        let ground = y.gt(paid).select(0.90, 0.985);
        let line = |t: Idx<Years>| {
            let here = height(prices.at((t, x)));
            // Steep lines are as wide as flat ones.
            let slope = height(prices.at((t, (x + 1).clamp()))) - here;
            (1.6 - (y - here).abs() / (1.0 + slope * slope).sqrt()).clamp(0.0, 1.0)
        };
        let ink: [Exp<f32>; 2] = fold(Sum, |t: Idx<Years>| [line(t), line(t) * t.to::<f32>()]);
        let late = ink[1] / ink[0].max(1e-6) / (Idx::<Years>::extent().cast::<f32>() - 1.0);
        let cover = ink[0].min(1.0);
        let colour = [0.95 - 0.8 * late, 0.55 - 0.2 * late, 0.15 + 0.45 * late];
        colour.map(|c| ((ground * (1.0 - cover) + c * cover) * 255.0).cast::<u8>())
    })
}

/// One put in plain Rust, in double precision.
fn plain(spot: f32, years: f32, steps: usize) -> f64 {
    let (rate, strike, spot) = (f64::from(RATE), f64::from(STRIKE), f64::from(spot));
    let dt = f64::from(years) / steps as f64;
    let height = f64::from(VOLATILITY) * dt.sqrt();
    let grows = (rate * dt).exp();
    let p = (grows - (-height).exp()) / (height.exp() - (-height).exp());
    let paid = |step: usize, j: usize| (strike - spot * (height * (2.0 * j as f64 - step as f64)).exp()).max(0.0);
    let mut v: Vec<f64> = (0..=steps).map(|j| paid(steps, j)).collect();
    for step in (0..steps).rev() {
        for j in 0..=step {
            v[j] = ((p * v[j + 1] + (1.0 - p) * v[j]) / grows).max(paid(step, j));
        }
    }
    v[0]
}

fn main() -> Result<(), Box<dyn Error>> {
    let steps = 80;
    let puts = slyz::compile(puts)?.size::<N>(steps + 1);
    if asked_about(&puts) {
        return Ok(());
    }
    let years = [0.1f32, 0.5, 1.0, 2.0];
    let spots: Vec<f32> = (0..480).map(|x| 40.0 + 0.25 * x as f32).collect();
    let prices = puts.call(&years, &spots)?;
    let table = prices.to_vec()?;
    println!("   spot{}", years.map(|t| format!("{t:7.1} y")).concat());
    for x in (80..480).step_by(80) {
        let row = years.iter().enumerate().map(|(t, &years)| {
            let price = table[t * spots.len() + x];
            let exact = plain(spots[x], years, steps);
            assert!((f64::from(price) - exact).abs() < 5e-3, "{price} is not {exact}");
            format!("{price:9.3}")
        });
        println!("{:7.1}{}", spots[x], row.collect::<String>());
    }
    let draw = slyz::compile(chart)?.size::<Rows>(300);
    save("american_options", [300, spots.len()], &draw.call(&prices, &spots)?.to_vec()?)
}
