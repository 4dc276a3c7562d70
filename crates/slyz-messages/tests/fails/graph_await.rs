use slyz::prelude::*;

#[graph]
fn kernel(out: &mut Tensor<f32>) {
    let later = async { 1.0 };
    out[thread.x] = later.await;
}

fn main() {}
