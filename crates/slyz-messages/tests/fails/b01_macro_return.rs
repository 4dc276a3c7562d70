//! `return` and `break` that a traced `if` cannot carry.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let y = if x < 0.0 { return x; } else { -x }; y }
#[slyz::function]
fn g(x: Exp<f32>) -> Exp<f32> { let mut y = x; for i in 0..3 { if y > 1.0 { break; } y *= 2.0; } y }
