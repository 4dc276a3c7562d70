//! A fold over an axis that is named twice, or is not there.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, N)>) -> Arr<f32, N> { x.sum_over(N) }
fn g(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.sum_over(K) }
fn h(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.sum_axis::<2>() }
