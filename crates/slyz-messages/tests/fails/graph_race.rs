use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    out[0] = x[thread.x];
}

fn main() {}
