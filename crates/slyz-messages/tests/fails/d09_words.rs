//! Words of other libraries.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Arr<f32, N> { x.sort() }
