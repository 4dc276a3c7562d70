//! Brackets instead of `.at`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { tabulate(|(i, j)| x[(i, j)] * 2.0) }
fn g(x: Arr<f32, N>) -> Exp<f32> { x[0] }
fn h(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i| x[i]) }
