//! A traced value escapes from the body it belongs to.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Exp<f32> { let mut acc = lit(0.0f32); let _ = x.map(|v| { acc = acc + v; acc }); acc }
