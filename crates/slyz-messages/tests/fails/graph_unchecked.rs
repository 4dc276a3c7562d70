use slyz::prelude::*;

#[graph(unchecked)]
fn copy(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    out[thread.x] = x[thread.x];
}

fn main() -> Result<(), slyz::Error> {
    let mut out = vec![0.0f32; 4];
    copy(&vec![1.0; 4], &mut out).run()
}
