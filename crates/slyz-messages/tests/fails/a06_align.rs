//! The shapes align at the outer end only.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, M)>, y: Arr<f32, N>) -> Arr<f32, (N, M)> { x + y }
