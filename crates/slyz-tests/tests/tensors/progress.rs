//! How far loops are, as whoever watches hears it.

use crate::devices;
use slyz::Error;
use slyz::prelude::*;
use slyz::progress::{Progress, watch, watch_every};
use std::sync::{Arc, Mutex};
use std::time::Duration;

axis!(N);

/// Heat in a rod, long enough that its turns are launches.
fn watched_heat(u: Arr<f32, N>) -> Arr<f32, N> {
    iterate(20, u, |_, u: Arr<f32, N>| u.stencil(Border::Clamp, |u| u(0) + 0.25 * (u(-1) - 2.0 * u(0) + u(1))))
}

fn watched_halves(u: Arr<f32, N>) -> Arr<f32, N> {
    repeat_while(u, |u: Arr<f32, N>| u.max().gt(1.0), |u: Arr<f32, N>| u * 0.5)
}

#[test]
fn turns_are_told() -> Result<(), Error> {
    let heard: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let into = heard.clone();
    let watching = watch_every(Duration::ZERO, move |progress| {
        if progress.name.starts_with("watched") {
            into.lock().unwrap().push(progress.clone());
        }
    });
    // Nobody with patience hears of loops that are short.
    let _patient = watch(|progress| assert!(progress.elapsed >= Duration::from_secs(1)));
    let n = 100_000;
    let data: Vec<f32> = (0..n).map(|k| (k % 17) as f32).collect();
    for device in devices() {
        // The interpreter takes its time.
        let n = if device.name() == "interpreter" { 20 } else { n };
        compile_on(&device, watched_heat)?.call(&data[..n])?.to_vec()?;
        let told = std::mem::take(&mut *heard.lock().unwrap());
        let done: Vec<u64> = told.iter().map(|progress| progress.done).collect();
        assert_eq!(done, (1..=20).chain([20]).collect::<Vec<u64>>(), "{}", device.name());
        assert!(told.iter().all(|progress| progress.of == Some(20) && progress.device == device.name()));
        let finished: Vec<bool> = told.iter().map(|progress| progress.finished).collect();
        assert_eq!(finished, [[false; 20].to_vec(), vec![true]].concat());
        assert!(told[19].to_string().contains("20 of 20 turns (100 %)"), "{}", told[19]);

        compile_on(&device, watched_halves)?.call(&data[..n])?.to_vec()?;
        let told = std::mem::take(&mut *heard.lock().unwrap());
        let last = told.last().unwrap();
        // A GPU is given turns before it says that there are no more.
        assert!(last.finished && last.done >= 4 && last.of.is_none(), "{}: {last:?}", device.name());
    }
    drop(watching);
    compile(watched_heat)?.call(&data)?.to_vec()?;
    assert!(heard.lock().unwrap().is_empty(), "nobody watches any more");
    Ok(())
}
