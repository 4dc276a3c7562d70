//! `usize` is not an axis.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, usize>) -> Arr<f32, usize> { x.map(|x| x + 1.0) }
