//! A parameter that is neither traced nor a number.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>, s: &str) -> Exp<f32> { x }
