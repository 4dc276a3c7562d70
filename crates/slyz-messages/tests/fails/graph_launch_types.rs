use slyz::prelude::*;

#[graph]
fn scale(x: &Tensor<f32>, out: &mut Tensor<f32>, by: f32) {
    out[thread.x] = x[thread.x] * by;
}

fn main() -> Result<(), slyz::Error> {
    let x = vec![1.0f32; 4];
    let n = vec![1i32; 4];
    let mut out = vec![0.0f32; 4];
    scale(&n, &mut out, 2.0).run()?;
    scale(&x, &out, 2.0).run()?;
    scale(&x, &mut out, 2).run()?;
    scale(&x, &mut out).run()?;
    Ok(())
}
