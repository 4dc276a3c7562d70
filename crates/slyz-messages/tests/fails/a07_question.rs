//! A `?` is missing after `compile`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn g(x: Arr<f32, N>) -> Arr<f32, N> { x }
fn f() -> Result<(), slyz::Error> { let h = compile(g); let y = h.call(&[1.0f32])?; Ok(()) }
