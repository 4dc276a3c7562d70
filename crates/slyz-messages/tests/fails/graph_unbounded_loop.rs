#![deny(deprecated)]
use slyz::prelude::*;

#[graph]
fn kernel(out: &mut Tensor<f32>) {
    let i = thread.x;
    while i < 10 {
        out[i] = 1.0;
    }
}

fn main() {}
