//! A branch initialises a local; write `let y = if ..` instead.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let y; if x > 1.0 { y = x; } else { y = -x; } y }
