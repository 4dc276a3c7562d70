//! A generic shape without its bound.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f<S>(x: Arr<f32, S>) -> Exp<f32> { (x * x).sum() }
