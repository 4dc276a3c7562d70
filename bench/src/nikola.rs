//! The two figures of the Nikola paper: Black-Scholes and a radix sort, time against size.

use crate::contest::Failure;
use crate::data::Slab;
use crate::gpu::numbers;
use crate::growth::{Curve, Grower, curves, last};
use crate::job::Bench;
use crate::jobs::{OptionNumber, black_scholes, black_scholes_in_c, black_scholes_price};
use rayon::iter::ParallelIterator as _;
use rayon::slice::ParallelSliceMut;
use slyz::prelude::*;
use slyz::{Device, compile_on};
use std::path::Path;
use std::sync::Arc;
use voracious_radix_sort::RadixSort;

axis!(N);

/// The paper's figure 4: data that stays where it is, data that comes and goes, a function that is compiled at every call (its code is
/// kept, so that is tracing and finding it), and what one would write without us: plain Rust on one thread, and vector C, whose second thread
/// helps from about a million options on.
pub fn options(bench: &Bench) -> Result<Vec<Curve>, Failure> {
    let last = last(bench.quick, 22);
    let most = 1 << last;
    let [s, x, t] = &crate::jobs::options(&bench.native, most);
    let f = compile(black_scholes)?;
    let tensor = |data: &[f32]| Tensor::<f32, OptionNumber>::from_vec([data.len()], data.to_vec());
    let mut resident = vec![];
    for exponent in 0..=last {
        let n = 1 << exponent;
        resident.push([tensor(&s[..n])?, tensor(&x[..n])?, tensor(&t[..n])?]);
    }
    let mut by_hand = Slab::zeros(&bench.native, most);
    let mut plain = Slab::zeros(&bench.native, most);
    let mut growers = [
        Grower::new("ours, resident", |n| {
            let [s, x, t] = &resident[n.ilog2() as usize];
            Ok(f.call(s, x, t)?)
        }),
        Grower::new("ours, with transfers", |n| Ok(f.call(&s[..n], &x[..n], &t[..n])?.to_vec()?)),
        Grower::new("ours, compiled at every call", |n| {
            Ok(compile(black_scholes)?.call(&s[..n], &x[..n], &t[..n])?.to_vec()?)
        }),
        Grower::new("vector C by hand", |n| black_scholes_in_c(bench, &mut by_hand[..n], [&s[..n], &x[..n], &t[..n]])),
        Grower::new("plain Rust", |n| {
            let inputs = s[..n].iter().zip(&x[..n]).zip(&t[..n]);
            plain[..n].iter_mut().zip(inputs).for_each(|(z, ((&s, &x), &t))| *z = black_scholes_price(s, x, t));
            Ok(())
        }),
    ];
    curves(bench.quick, last, &mut growers)
}

/// The same figure for a GPU. What was written by hand for it is another program, whose output is read: lines of
/// `curve`, a number of options, seconds per option, and a name.
pub fn options_on(quick: bool, device: &Arc<dyn Device>, by_hand: Option<&Path>) -> Result<Vec<Curve>, Failure> {
    let last = last(quick, 24);
    let most = 1 << last;
    let between = |low: f32, high: f32, seed: u32| -> Vec<f32> { numbers(most as u64, (low, high), seed).collect() };
    let [s, x, t] = &[between(10.0, 100.0, 1), between(10.0, 100.0, 2), between(0.2, 2.0, 3)];
    let f = compile_on(device, black_scholes)?;
    let tensor = |data: &[f32]| Tensor::<f32, OptionNumber>::from_vec([data.len()], data.to_vec())?.to(device);
    let mut resident = vec![];
    for exponent in 0..=last {
        let n = 1 << exponent;
        resident.push([tensor(&s[..n])?, tensor(&x[..n])?, tensor(&t[..n])?]);
    }
    let mut plain = vec![0f32; most];
    let mut growers = [
        Grower::new("ours, resident", |n| {
            let [s, x, t] = &resident[n.ilog2() as usize];
            let prices = f.call(s, x, t)?;
            device.synchronize()?;
            Ok(prices)
        }),
        Grower::new("ours, with transfers", |n| Ok(f.call(&s[..n], &x[..n], &t[..n])?.to_vec()?)),
        Grower::new("ours, compiled at every call", |n| {
            Ok(compile_on(device, black_scholes)?.call(&s[..n], &x[..n], &t[..n])?.to_vec()?)
        }),
        Grower::new("plain Rust", |n| {
            let inputs = s[..n].iter().zip(&x[..n]).zip(&t[..n]);
            plain[..n].iter_mut().zip(inputs).for_each(|(z, ((&s, &x), &t))| *z = black_scholes_price(s, x, t));
            Ok(())
        }),
    ];
    let mut curves = curves(quick, last, &mut growers)?;
    if let Some(file) = by_hand {
        curves.extend(read_curves(&std::fs::read_to_string(file)?, most));
    }
    Ok(curves)
}

fn read_curves(text: &str, most: usize) -> Vec<Curve> {
    let mut curves: Vec<Curve> = vec![];
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        let (Some("curve"), Some(n), Some(time), Some(name)) = (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (Ok(n), Ok(time)) = (n.parse(), time.parse()) else { continue };
        if n > most {
            continue;
        }
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((n, time)),
            None => curves.push(Curve { name: name.to_string(), points: vec![(n, time)] }),
        }
    }
    curves
}

/// The paper's figure 5: a radix sort of unsigned integers.
pub fn sort(bench: &Bench) -> Result<Vec<Curve>, Failure> {
    let last = last(bench.quick, 20);
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ state >> 15
    };
    let x: Vec<u32> = (0..1 << last).map(|_| random()).collect();
    let x = &x[..];
    let f = compile(|x: Arr<u32, N>| x.sort())?;
    let threads = rayon::current_num_threads();
    let mut growers = [
        Grower::new("ours", |n| Ok(f.call(&x[..n])?.to_vec()?)),
        Grower::new("sort_unstable", |n| {
            let mut x = x[..n].to_vec();
            x.sort_unstable();
            Ok(x)
        }),
        Grower::new("rayon", |n| {
            let mut x = x[..n].to_vec();
            x.par_sort_unstable();
            Ok(x)
        }),
        Grower::new("voracious_radix_sort", |n| {
            let mut x = x[..n].to_vec();
            x.voracious_mt_sort(threads);
            Ok(x)
        }),
    ];
    curves(bench.quick, last, &mut growers)
}
