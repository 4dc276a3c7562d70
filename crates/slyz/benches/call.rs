//! What a small call costs: nanoseconds from `call` to its result, on 16 elements, beside plain Rust.
//!
//! `cargo bench -p slyz --bench call`

use slyz::prelude::*;
use std::hint::black_box;
use std::time::Instant;

axis!(N);

/// The median of many short rounds, in nanoseconds a call: what else the machine does falls between them.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 200;
    let round = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    round(&mut call);
    let mut rounds: Vec<f64> = (0..1000).map(|_| round(&mut call)).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

fn row(name: &str, call: impl FnMut()) {
    println!("{name:<44} {:>8.0} ns", nanoseconds(call));
}

fn main() -> Result<(), slyz::Error> {
    let device = slyz::device("cpu")?;
    let x = vec![1.0f32; 16];
    let t = Tensor::<f32, N>::from_vec([16], x.clone())?;

    row("plain Rust, x + 1 into a new Vec", || {
        black_box(black_box(&x).iter().map(|x| x + 1.0).collect::<Vec<f32>>());
    });
    let next = compile_on(&device, |x: Arr<f32, N>| x + 1.0)?;
    row("x + 1, from a slice", || {
        black_box(next.call(black_box(&x)).ok());
    });
    row("x + 1, from a tensor", || {
        black_box(next.call(black_box(&t)).ok());
    });
    let mixed = compile_on(&device, |a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| x * a + y)?;
    row("a x + y, from a number, a slice and a tensor", || {
        black_box(mixed.call(black_box(2.0), black_box(&x), black_box(&t)).ok());
    });
    let sum = compile_on(&device, |x: Arr<f32, N>| x.sum())?;
    row("sum, from a slice, one number", || {
        black_box(sum.call(black_box(&x)).and_then(|sum| sum.value()).ok());
    });
    let square = compile_on(&device, |x: Exp<f32>| x * x)?;
    row("x x of one number", || {
        black_box(square.call(black_box(3.0)).and_then(|y| y.value()).ok());
    });
    Ok(())
}
