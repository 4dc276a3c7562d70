use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    #[threadgroup]
    let mut tile: [f32; 64];
    let t = local.x;
    tile[t] = x[global.x];
    if t < 32 {
        threadgroup.barrier();
    }
    out[global.x] = tile[63 - t];
}

fn main() {}
