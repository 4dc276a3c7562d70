//! The function takes a host value.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn k(y: Exp<f32>, x: f32) -> Exp<f32> { lit(1.0) }
fn f() -> Result<(), slyz::Error> { compile(k)?; Ok(()) }
