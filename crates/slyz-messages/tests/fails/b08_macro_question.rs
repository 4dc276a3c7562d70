//! `?` leaves neither a branch nor a traced function.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn host() -> Option<f32> { None }
#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { x * host()? }
#[slyz::function(inline)]
fn g(x: Exp<f32>) -> Option<Exp<f32>> { let y = if x < 0.0 { x * host()? } else { x }; Some(y) }
