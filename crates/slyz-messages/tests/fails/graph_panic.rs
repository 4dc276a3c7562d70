use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    assert!(x.len() == out.len());
    if x[thread.x] < 0.0 {
        panic!("negative");
    }
    out[thread.x] = x[thread.x];
}

fn main() {}
