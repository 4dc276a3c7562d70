use slyz::prelude::*;

#[graph]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    let i = thread.x;
    let f = |v: f32| v * 2.0;
    match i {
        0 => out[i] = 1.0,
        _ => out[i] = f(x[i]),
    }
    unsafe { out[i] = 2.0; }
    let Point { a, b } = point;
}

#[graph]
fn generic<T>(out: &mut Tensor<T>) {
    out[thread.x] = 0.0;
}

#[graph(fast)]
fn option(out: &mut Tensor<f32>) {
    out[thread.x] = 0.0;
}

#[graph]
struct NotAFunction;

fn main() {}
