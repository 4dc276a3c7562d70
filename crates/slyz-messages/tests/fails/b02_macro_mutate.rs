//! A branch mutates an outer local through a method.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(mut v: [Exp<f32>; 2]) -> Exp<f32> { if v[0] > v[1] { v.swap(0, 1); } v[0] }
