//! Host loops over traced values.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let mut y = x; while y > 1.0 { y = y / 2.0 } y }
#[slyz::function]
fn g(x: Exp<f32>, n: Exp<u32>) -> Exp<f32> { let mut y = x; for i in 0..n { y = y / 2.0 } y }
