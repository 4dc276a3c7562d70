//! Methods of one axis on matrices.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.map_at(|(i, j), v| x.at_or((i - 1, j), 0.0)) }
fn g(x: Arr<f32, (N, M)>) { let rolled = x.roll(1); }
fn h(x: Arr<f32, (N, M)>) { let turned = x.reverse(); }
fn k(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.scan(Sum) }
