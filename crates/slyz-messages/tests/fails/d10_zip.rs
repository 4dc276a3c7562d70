//! Tuples that are not arrays of one shape.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M);

fn main() {}

fn f(x: Arr<f32, N>, y: Arr<f32, M>) -> Arr<f32, N> { zip((x, y)).map(|(a, b)| a * b) }
fn g(x: Arr<f32, N>, y: Exp<f32>) -> Arr<f32, N> { zip((x, x, y)).map(|(a, b, c)| a * b + c) }
fn h(x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { zip(x, y).map(|(a, b)| a * b) }
fn k(x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { x.max(y) }
fn l(x: Exp<f32>, y: Exp<f32>) -> Exp<f32> { max(x, y) }
