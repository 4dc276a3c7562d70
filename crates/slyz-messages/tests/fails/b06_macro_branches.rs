//! Branches of different types; a condition that is none.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>, k: Exp<i32>) -> Exp<f32> { if x > 1.0 { x } else { k } }
#[slyz::function]
fn g(x: Exp<f32>) -> Exp<f32> { if x { x } else { -x } }
