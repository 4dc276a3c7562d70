//! Tiled sums of 1, 10 and 32 million elements: millions a second, of data on the device and of data of the host.
//!
//! `cargo bench -p slyz --bench gpu_reduction`; `SLYZ_DEVICE` names the device.

use slyz::prelude::*;
use slyz::views::*;
use std::time::Instant;

axis!(H, W);

/// A way to the sum.
type Way<'a> = dyn Fn() -> Result<f32, slyz::Error> + 'a;

/// Millions of elements a second of each way, by the median of some calls. They take turns, so that none has a machine that is faster than others
/// had.
fn rates<const N: usize>(elements: usize, ways: [&Way<'_>; N]) -> Result<[f64; N], slyz::Error> {
    let mut seconds = [const { vec![] }; N];
    for turn in 0..41 {
        for (way, seconds) in ways.iter().zip(&mut seconds) {
            let start = Instant::now();
            way()?;
            if turn > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        elements as f64 / seconds[seconds.len() / 2] / 1e6
    }))
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
        let [tiled, plain, across] = rates(
            elements,
            [&|| Ok(view.reduce::<SumOp>(&[0, 1])?.to_vec()?[0]), &|| sum.call(&x)?.value(), &|| {
                sum.call(turned)?.value()
            }],
        )?;
        // Whoever came behind it would find the device asleep.
        let [host] = rates(elements, [&|| try_tiled_sum_2d(&data, width, height)])?;
        println!("{elements:<12}{tiled:>12.0}{plain:>12.0}{across:>12.0}{host:>12.0}");
    }
    Ok(())
}
