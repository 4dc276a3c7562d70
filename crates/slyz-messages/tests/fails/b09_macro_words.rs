//! `.await`, `async` and `unsafe` cannot be traced.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let y = std::future::ready(x).await; x }
#[slyz::function]
fn g(x: Exp<f32>) -> Exp<f32> { let y = async { 1 }; x }
#[slyz::function]
fn h(x: Exp<f32>) -> Exp<f32> { unsafe { x } }
