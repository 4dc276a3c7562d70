//! A position of one axis reads an array over another.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>, y: Arr<f32, M>) -> Arr<f32, N> { tabulate(|i| x.at(i) * y.at(i)) }
