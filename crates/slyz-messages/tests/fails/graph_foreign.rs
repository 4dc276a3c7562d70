use slyz::prelude::*;

#[graph]
fn kernel(out: &mut Tensor<f32>) {
    out[thread.x] = libm::cosf(1.0);
    std::process::exit(1);
}

fn main() {}
