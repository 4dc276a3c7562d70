//! A tensor of another axis is passed.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Arr<f32, N> { let y = x.map(|v| 1.0); x + y }
fn g(t: Tensor<f32, M>) -> Result<(), slyz::Error> { let f = compile(|x: Arr<f32, N>| x)?; f.call(&t)?; Ok(()) }
