use slyz::prelude::*;

#[graph]
fn kernel(out: &mut Tensor<f32>) {
    let list = vec![1.0f32, 2.0];
    let text = "not in a kernel";
    let boxed = Box::new(1.0f32);
    out[thread.x] = 1.0;
}

fn main() {}
