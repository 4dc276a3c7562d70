//! A batch of operations on data that stays on the device: one upload, one kernel, one download.
//!
//! `cargo run --release --example gpu_batch_demo`

use slyz::prelude::*;
use slyz::views::*;

axis!(N);

/// What a batch queues one by one elsewhere: a rectifier, a scale, an addition. Here they are one function, and one kernel.
fn batch(x: Arr<f32, N>, scale: Exp<f32>, y: Arr<f32, N>) -> Arr<f32, N> {
    let rectified = x.map(|x| x.max(0.0));
    let scaled = rectified * scale;
    scaled + y
}

fn main() -> Result<(), slyz::Error> {
    let device = slyz::auto();
    let f = slyz::compile_on(&device, batch)?;
    let x = Tensor::<f32, N>::from_vec([4], vec![1.0, 2.0, -3.0, 4.0])?.to(&device)?;
    let y = Tensor::<f32, N>::from_vec([4], vec![0.5; 4])?.to(&device)?;
    let once = f.call(&x, 2.0, &y)?;
    println!("relu, scale and add: {:?} on {}", once.to_vec()?, f.device());
    assert_eq!(once.to_vec()?, [2.5, 4.5, 0.5, 8.5]);

    // Results stay where they are, and go into memory that is there already.
    let mut turns = Tensor::<f32>::zeros([3, 4])?;
    for turn in 0..3 {
        let mut row: TensorViewMut<f32, 1> = turns.view_mut::<2>()?.select(0, turn)?;
        f.call_into(&mut row, &once, turn as f32, &y)?;
    }
    println!("three more, in the rows of one tensor: {:?}", turns.to_vec()?);
    assert_eq!(turns.to_vec()?[8..], [5.5, 9.5, 1.5, 17.5]);
    Ok(())
}
