//! An array as the state of a loop, which holds scalars.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Arr<f32, N> { iterate(10, x, |_, x| x * 0.5) }
fn g(x: Arr<f32, N>) -> Arr<f32, N> { repeat_while(x, |x| x.sum().gt(1.0), |x| x * 0.5) }
