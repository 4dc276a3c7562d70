use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>, scale: f32) {
    let i = thread.x;
    let sum = 0.0f32;
    sum += x[i];
    scale = 2.0;
    x[i] = sum * scale;
    out[i] = sum;
}

fn main() {}
