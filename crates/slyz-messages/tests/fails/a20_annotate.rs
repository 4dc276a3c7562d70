//! The type of a position is not known where it is needed.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i| x.at((i + 1).clamp())) }
fn g(x: Arr<f32, N>) -> Arr<u32, N> { tabulate(|i| i.u32()) }
