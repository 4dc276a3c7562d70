//! A pattern in a `let` of a kernel: told once, and nothing of the names in it.
use slyz::prelude::*;

#[graph]
fn pairs(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let (a, b) = (input[thread.x], 2.0);
    let [c, mut d] = [1.0, a];
    d = d + c;
    if a < b && thread.x < output.len() {
        output[thread.x] = a * b + max(a, b) + d;
    }
}

fn main() {}
