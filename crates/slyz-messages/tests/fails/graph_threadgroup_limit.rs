use slyz::prelude::*;

#[graph]
fn kernel(out: &mut Tensor<f32>) {
    #[threadgroup]
    let mut a: [f32; 8192];
    #[threadgroup]
    let mut b: [[f32; 16]; 16];
    a[local.x] = 1.0;
    b[0][local.x % 16] = 1.0;
    threadgroup.barrier();
    out[global.x] = a[local.x] + b[0][local.x % 16];
}

fn main() {}
