//! Words of other libraries.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.sort() }
fn g(x: Arr<(f32, u8), N>) -> Arr<(f32, u8), N> { x.sort_by_key(|(a, b)| (a.descending(), b)) }
