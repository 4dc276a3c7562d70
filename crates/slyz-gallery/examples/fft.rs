//! A fast Fourier transform in Stockham's order: each stage halves what is left to transform, and leaves the frequencies sorted. It
//! draws the spectrum of a chirp as it rises.
//!
//! `cargo run --release --example fft -- --out chirp.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, glow, save};
use std::error::Error;
use std::f32::consts::{PI, TAU};

axis!(T, N, Samples);

type Signal = Arr<Complex<f32>, N>;

/// The transform of a signal whose length is a power of two.
fn fft(x: Signal) -> Signal {
    let n = Idx::<N>::extent().cast::<u32>();
    let stages = n.trailing_zeros();
    iterate(stages, x, |stage, x: Signal| {
        // So far there are `done` frequencies; each pair of values that are half the signal apart gives two.
        let done = lit(1u32) << stage;
        tabulate(|p: Idx<N>| {
            let pair = p.u32() >> (stage + 1);
            let first = pair * done + (p.u32() & (done - 1));
            let a = x.get(first).clamp();
            let b = x.get(first + n / 2).clamp();
            let second = (p.u32() & done).ne(0);
            let turn = Complex::from_polar(1.0, -TAU * (pair * done).cast::<f32>() / n.cast::<f32>());
            second.select((a - b) * turn, a + b)
        })
    })
}

/// The spectra of overlapping stretches of a sound, each faded in and out.
fn spectra(sound: Arr<f32, Samples>) -> Arr<f32, (T, N)> {
    let n = Idx::<N>::extent();
    let hop = (Idx::<Samples>::extent() - n) / (Idx::<T>::extent() - 1);
    stack(|t: Idx<T>| {
        let stretch: Signal = tabulate(|i: Idx<N>| {
            let fade = (PI * i.to::<f32>() / n.cast::<f32>()).sin();
            Complex::from(sound.get(t.i64() * hop + i.i64()).clamp() * fade * fade)
        });
        fft(stretch).abs()
    })
}

/// Time to the right, frequency up, loudness in decibels.
fn picture(spectra: Arr<f32, (T, N)>) -> Arr<[u8; 3], (Stride<N, 2>, T)> {
    let most = spectra.max();
    tabulate(|(y, t): Pos<(Stride<N, 2>, T)>| {
        let loud = spectra.at_or((t, Near::new(Idx::<N>::extent() / 2 - 1 - y.i64())), 0.0);
        glow(1.0 + (loud / most).max(1e-6).log10() / 3.0)
    })
}

/// The transform by its definition, in double precision.
fn check(x: &[Complex<f32>], found: &[Complex<f32>]) {
    let n = x.len();
    for (k, found) in found.iter().enumerate() {
        let turn = |i: usize| -std::f64::consts::TAU * (i * k % n) as f64 / n as f64;
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
        let re = sum(&|i| f64::from(x[i].re) * turn(i).cos() - f64::from(x[i].im) * turn(i).sin());
        let im = sum(&|i| f64::from(x[i].re) * turn(i).sin() + f64::from(x[i].im) * turn(i).cos());
        let off = (re - f64::from(found.re)).hypot(im - f64::from(found.im));
        assert!(off < 1e-3, "frequency {k}: {found:?} is not {re} + {im}i");
    }
    println!("{n} frequencies agree with their definition");
}

fn main() -> Result<(), Box<dyn Error>> {
    let fft = slyz::compile(fft)?;
    if asked_about(&fft) {
        return Ok(());
    }
    let some: Vec<Complex<f32>> =
        (0..1024).map(|i| Complex::new((i % 7) as f32 - 3.0, (i % 11) as f32 / 5.0)).collect();
    check(&some, &fft.call(&some)?.to_vec()?);

    // A chirp that rises, and a weaker one that falls.
    let chirp: Vec<f32> = (0..1 << 16)
        .map(|i| {
            let t = f64::from(i) / 65536.0;
            let rising = (48e3 * t * t * (1.0 + 0.5 * t)).sin();
            let falling = (150e3 * t * (1.0 - 0.45 * t)).sin();
            (rising + 0.3 * falling) as f32
        })
        .collect();
    let n = 512;
    let width = 480;
    let spectra = slyz::compile(spectra)?.size::<T>(width).size::<N>(n);
    let rgb = slyz::compile(picture)?.call(&spectra.call(&chirp)?)?;
    save("fft", [n / 2, width], &rgb.to_vec()?)
}
