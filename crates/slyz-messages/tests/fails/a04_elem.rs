//! Arrays of different elements are multiplied.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>, y: Arr<i32, N>) -> Arr<f32, N> { x * y }
