//! Indices of the wrong number.
use slyz::prelude::*;

#[graph]
fn rows(input: &Tensor<f32, 2>, output: &mut Tensor<f32>) {
    let i = thread.x;
    if i < output.len() {
        output[i] = input[i] + output[(i, i)];
    }
}

fn main() {}
