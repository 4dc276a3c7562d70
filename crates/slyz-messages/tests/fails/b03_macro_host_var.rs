//! A branch assigns a host local.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let mut n = 0usize; if x > 1.0 { n = 1; } x * n as f32 }
