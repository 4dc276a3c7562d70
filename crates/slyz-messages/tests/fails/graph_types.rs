use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, n: &Tensor<i32>, out: &mut Tensor<f32>) {
    let i = thread.x;
    out[i] = x[i] * n[i];
    out[i] = n[i];
    if x[i] { out[i] = 1.0; }
    out[x[i]] = 1.0;
    let byte: u8 = 300;
    out[i] = max(x[i], true);
}

fn main() {}
