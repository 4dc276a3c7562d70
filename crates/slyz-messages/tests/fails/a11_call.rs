//! Arguments of the wrong type, and too few.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn g(x: Arr<f32, N>, a: Exp<f32>) -> Arr<f32, N> { x * a }
fn f() -> Result<(), slyz::Error> { let h = compile(g)?; h.call(&[1.0f64], 2.0)?; h.call(&[1.0f32], 2)?; h.call(&[1.0f32])?; Ok(()) }
