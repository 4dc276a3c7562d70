//! Tiled sums of 1, 10 and 32 million elements: millions a second, of data on the device and of data of the host.
//!
//! `cargo bench -p slyz --bench gpu_reduction`; `SLYZ_DEVICE` names the device.

use slyz::prelude::*;
use slyz::views::*;
use std::time::Instant;

axis!(H, W);

/// Millions of elements a second, by the median of some calls.
fn rate(elements: usize, mut call: impl FnMut() -> Result<f32, slyz::Error>) -> Result<f64, slyz::Error> {
    call()?;
    let mut seconds = vec![];
    for _ in 0..15 {
        let start = Instant::now();
        call()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(elements as f64 / seconds[seconds.len() / 2] / 1e6)
}

fn main() -> Result<(), slyz::Error> {
    let sum = compile(|x: Arr<f32, (H, W)>| x.sum())?;
    println!("million elements a second, on {}", sum.device());
    println!("{:<12}{:>12}{:>12}{:>12}{:>12}", "elements", "tiled sum", "plain fold", "turned", "from host");
    for (width, height) in [(1000, 1000), (4000, 2500), (8000, 4000)] {
        let elements = width * height;
        let data: Vec<f32> = (0..elements).map(|k| (k % 8) as f32).collect();
        let device = slyz::device(sum.device())?;
        let x = Tensor::<f32, (H, W)>::from_vec([height, width], data.clone())?.to(&device)?;
        let view = x.view::<2>()?;
        let turned = view.transpose(0, 1)?;
        let tiled = rate(elements, || Ok(view.reduce::<SumOp>(&[0, 1])?.to_vec()?[0]))?;
        let plain = rate(elements, || sum.call(&x)?.value())?;
        let across = rate(elements, || sum.call(turned)?.value())?;
        let host = rate(elements, || try_tiled_sum_2d(&data, width, height))?;
        println!("{elements:<12}{tiled:>12.0}{plain:>12.0}{across:>12.0}{host:>12.0}");
    }
    Ok(())
}
