//! A constant position past the end.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, Fix<3>>) -> Exp<f32> { x.at(fix::<3, 3>()) }
