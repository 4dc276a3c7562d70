//! Tuples in a kernel: by how many names they are taken apart, and what is no name. Told once, and nothing of the names.
use slyz::prelude::*;

#[graph]
fn pairs(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let (a, b) = (input[thread.x], 2.0, 3.0);
    let [c, mut d] = [1.0, a];
    let (e, &f) = (1.0, 2.0);
    let (g, (mut h, _)): (f32, (i32, f32)) = (1.0, (2.0, 3.0));
    #[threadgroup]
    let (k, l) = (1.0, 2.0);
    d = d + c;
    (g, h) = (g, 3);
    if a < b && thread.x < output.len() {
        (output[thread.x], _) = (a * b + max(a, b) + d + e + f + k + l, 1.0);
        (_, output[thread.x]) = (1.0, h);
    }
}

fn main() {}
