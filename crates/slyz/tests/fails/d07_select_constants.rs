//! Two constants of no certain type.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<f32>) -> Exp<f32> {
    let s = x.gt(0.0).select(3, -3);
    x * s.cast::<f32>()
}
