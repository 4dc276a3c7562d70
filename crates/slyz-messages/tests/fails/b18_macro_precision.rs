use slyz::prelude::*;

#[slyz::function(precision = "double")]
fn twice(x: Exp<f32>) -> Exp<f32> {
    x + x
}

#[graph(precision = "fast")]
fn copy(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    out[thread.x] = x[thread.x];
}

#[slyz::function(precision = "exact", precision = "native")]
fn thrice(x: Exp<f32>) -> Exp<f32> {
    x + x + x
}

fn main() {}
