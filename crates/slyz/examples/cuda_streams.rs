//! Independent calls from several threads, all on one stream of a GPU, and each on one of its own.
//!
//! `cargo run --release --example cuda_streams [ELEMENTS]`

use slyz::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

axis!(N);

const THREADS: usize = 4;
const CALLS: usize = 50;

/// Long enough for the GPU to be the slower side, and too little to keep all of it busy.
fn turns(x: Arr<f32, N>) -> Arr<f32, N> {
    x.map(|x| {
        let mut y = x;
        for _ in 0..200 {
            y = (y * 0.75 + 0.25).sin();
        }
        y
    })
}

type Turns = Compiled<fn(Arr<f32, N>) -> Arr<f32, N>>;

/// How long all threads take, each with a device.
fn measured(devices: &[Arc<dyn slyz::Device>], x: &Tensor<f32, N>) -> Result<Duration, slyz::Error> {
    let codes = devices.iter().map(|device| compile_on(device, turns)).collect::<Result<Vec<_>, _>>()?;
    for code in &codes {
        code.call(x)?.get([0])?;
    }
    let clock = Instant::now();
    std::thread::scope(|scope| {
        let calls = |code: &Turns| -> Result<(), slyz::Error> {
            let mut last: Tensor<f32, N> = code.call(x)?;
            for _ in 1..CALLS {
                last = code.call(x)?;
            }
            // Whoever reads one element has waited for all of them.
            last.get([0]).map(drop)
        };
        let threads: Vec<_> = codes.iter().map(|code| scope.spawn(move || calls(code))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("the thread ends"))
    })?;
    Ok(clock.elapsed())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let elements: usize = std::env::args().nth(1).map_or(Ok(1 << 14), |text| text.parse())?;
    let first = slyz::device("cuda")?;
    println!("{}", first.describe());
    let x = match Tensor::<f32, N>::from_vec([elements], vec![0.5; elements])?.to(&first) {
        Ok(x) => x,
        Err(error) => {
            println!("there is nothing to measure here: {error}");
            return Ok(());
        }
    };
    let one = vec![first; THREADS];
    let own = (0..THREADS).map(|stream| slyz::device(&format!("cuda#{stream}"))).collect::<Result<Vec<_>, _>>()?;
    for _ in 0..3 {
        let (together, apart) = (measured(&one, &x)?, measured(&own, &x)?);
        println!("{THREADS} threads, {CALLS} calls each: one stream {together:.1?}, own streams {apart:.1?}");
    }
    Ok(())
}
