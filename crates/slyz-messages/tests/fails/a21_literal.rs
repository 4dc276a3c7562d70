//! An integer literal where the array has floats.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f() -> Arr<f32, N> { tabulate(|i| 0) }
