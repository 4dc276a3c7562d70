//! Whole constants beside floats.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<f32>) -> Exp<f32> { x * 2 }
fn g(x: Exp<f32>) -> Exp<f32> { 2 * x }
fn h(x: Arr<f32, N>) -> Arr<f32, N> { x * 2 }
fn i(x: Arr<f32, N>) -> Arr<f32, N> { 1 - x }
fn j(x: Exp<f32>) -> Exp<f32> { x.max(0) }
fn k(x: Exp<i32>) -> Exp<i32> { x * 2.0 }
fn l(mut x: Exp<f32>) -> Exp<f32> { x += 1; x }
