//! Rust's `&&` and `||` on traced conditions.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(a: Exp<bool>, b: Exp<bool>) -> Exp<bool> { a && b }
fn g(x: Exp<f32>) -> Exp<bool> { x.gt(0.0) || x.lt(-1.0) }
