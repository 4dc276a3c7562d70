//! Arrays over different axes are zipped.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>, y: Arr<f32, M>) -> Arr<f32, N> { x.zip(y).map(|(a, b)| a * b) }
