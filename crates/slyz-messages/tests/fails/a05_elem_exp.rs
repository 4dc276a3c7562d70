//! Traced values of different elements are multiplied.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<f32>, y: Exp<i32>) -> Exp<f32> { x * y + 1 }
