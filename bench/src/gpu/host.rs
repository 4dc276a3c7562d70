//! What goes on between the host and a GPU: transfers, and compilation.

use crate::contest::Failure;
use crate::jobs::{OptionNumber, black_scholes};
use crate::timing::{Timing, seconds};
use slyz::prelude::*;
use slyz::{Device, compile_on};
use std::fmt::Write;
use std::sync::Arc;

axis!(N);

/// Elements that travel: 256 MiB.
const TRAVELLERS: usize = 1 << 26;
const REPETITIONS: usize = 9;

/// The rates of transfers, and the time until Black-Scholes has run once: with the compiler, and with the compiler's result on disk.
pub fn page(device: &Arc<dyn Device>, name: &str) -> Result<String, Failure> {
    let data: Vec<f32> = (0..TRAVELLERS).map(|k| k as f32).collect();
    let here = Tensor::<f32, N>::from_vec([TRAVELLERS], data)?;
    let (mut up, mut down) = (vec![], vec![]);
    for _ in 0..REPETITIONS {
        let (time, there) = seconds(|| {
            let there = here.to(device)?;
            device.synchronize()?;
            Ok::<_, slyz::Error>(there)
        });
        up.push(time);
        let there = there?;
        let (time, back) = seconds(|| there.to_vec());
        back?;
        down.push(time);
    }
    let rate = |times: Vec<f64>| (TRAVELLERS * 4) as f64 / Timing::of("", times).median / 1e9;
    let mut text =
        format!("\n256 MiB to the device: {:.1} GB/s; from it into a new `Vec`: {:.1} GB/s.\n", rate(up), rate(down));
    if name != slyz_run::cuda::Cuda::NAME {
        return Ok(text);
    }
    let (first, again) = compilations()?;
    let _ = writeln!(
        text,
        "Black-Scholes until it has run once: {:.0} ms with the compiler, {:.1} ms with its code on disk.",
        first * 1e3,
        again * 1e3
    );
    text += &repeats(device)?;
    Ok(text)
}

axis!(H, W);

/// The mean of the four neighbours.
fn smooth(u: Arr<f32, (H, W)>) -> Arr<f32, (H, W)> {
    tabulate(|(i, j): Pos<(H, W)>| {
        let rows = u.at(((i - 1).clamp(), j)) + u.at(((i + 1).clamp(), j));
        let columns = u.at((i, (j - 1).clamp())) + u.at((i, (j + 1).clamp()));
        (rows + columns) * 0.25
    })
}

/// Microseconds of a turn of small loops, and of a small call that repeats: what is left is launches.
fn repeats(device: &Arc<dyn Device>) -> Result<String, Failure> {
    const TURNS: u32 = 1000;
    const CALLS: usize = 200;
    let side = 512;
    let data: Vec<f32> = (0..side * side).map(|k| (k % 97) as f32).collect();
    let grid = Tensor::<f32, (H, W)>::from_vec([side, side], data)?.to(device)?;
    let known = compile_on(device, |u: Arr<f32, (H, W)>| iterate(TURNS, u, |_, u| smooth(u)))?;
    let open = compile_on(device, |u: Arr<f32, (H, W)>| {
        let goes_on = |(u, n): (Arr<f32, (H, W)>, Exp<u32>)| n.lt(TURNS) & u.sum().gt(0.0);
        repeat_while((u, 0u32), goes_on, |(u, n)| (smooth(u), n + 1)).0
    })?;
    let line = Tensor::<f32, N>::from_vec([1 << 16], vec![1f32; 1 << 16])?.to(device)?;
    let chain = compile_on(device, |x: Arr<f32, N>| (0..8).fold(x, |x, _| x.scan(Sum).reverse()))?;
    if known.call(&grid)?.to_vec()? != open.call(&grid)?.to_vec()? {
        return Err("the two loops differ".into());
    }
    let first = chain.call(&line)?.to_vec()?;
    for call in 0..20 {
        if chain.call(&line)?.to_vec()? != first {
            return Err(format!("call {call} gives something else than the first").into());
        }
    }
    let time = |call: &dyn Fn() -> Result<(), slyz::Error>, times: usize| -> Result<f64, Failure> {
        let mut all = vec![];
        for _ in 0..REPETITIONS {
            let (time, done) = seconds(|| -> Result<(), Failure> {
                (0..times).try_for_each(|_| call())?;
                Ok(device.synchronize()?)
            });
            done?;
            all.push(time);
        }
        Ok(Timing::of("", all).median)
    };
    let known = time(&|| known.call(&grid).map(drop), 1)? / f64::from(TURNS);
    let open = time(&|| open.call(&grid).map(drop), 1)? / f64::from(TURNS);
    let chain = time(&|| chain.call(&line).map(drop), CALLS)? / CALLS as f64;
    Ok(format!(
        "A turn of a loop over 512²: {:.2} µs; of one that asks at each turn, three launches: {:.2} µs. A call of eight scans of 2^16 that repeats: {:.1} µs.\n",
        known * 1e6,
        open * 1e6,
        chain * 1e6
    ))
}

/// Seconds of tracing, compilation and a first call, on a device that is at work: of code that nobody has compiled, and with code on disk.
fn compilations() -> Result<(f64, f64), Failure> {
    let options = vec![50f32; 16];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let new = 1.0 + now.subsec_micros() as f32 * 1e-6;
    let prices =
        |s: Arr<f32, OptionNumber>, x: Arr<f32, OptionNumber>, t: Arr<f32, OptionNumber>| black_scholes(s, x, t) * new;
    let once = || -> Result<f64, Failure> {
        // Other devices of the same kind know nothing of what this process has compiled.
        let device: Arc<dyn Device> = Arc::new(slyz_run::cuda::Cuda::new(0));
        compile_on(&device, |x: Arr<f32, N>| x + 1.0)?.call(&options)?.to_vec()?;
        let (time, done) = seconds(|| -> Result<(), slyz::Error> {
            compile_on(&device, prices)?.call(&options, &options, &options)?.to_vec()?;
            Ok(())
        });
        done?;
        Ok(time)
    };
    Ok((once()?, once()?))
}
