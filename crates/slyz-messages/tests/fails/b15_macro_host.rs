//! Decisions while tracing over what only the device knows.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { #[host] if x > 1.0 { return -x; } x }
#[slyz::function]
fn g(x: Exp<f32>, n: usize) -> Exp<f32> { match n { 0 if x > 1.0 => -x, _ => x } }
