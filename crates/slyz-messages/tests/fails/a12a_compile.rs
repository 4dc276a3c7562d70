//! The function returns a host value.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn g(x: Arr<f32, N>) -> Vec<f32> { vec![] }
fn f() -> Result<(), slyz::Error> { compile(g)?; Ok(()) }
