//! A traced `if` outside `#[function]`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<f32>) -> Exp<f32> { if x < 0.0 { -x } else { x } }
fn g(x: Exp<f32>) -> Exp<f32> { if x == 0.0 { -x } else { x } }
fn h(x: Exp<f32>) -> Exp<f32> { if x.lt(0.0) { -x } else { x } }
