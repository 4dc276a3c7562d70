//! A number where a position belongs.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Exp<f32> { x.at(0) }
fn g(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at(i.i64() / 2)) }
fn h(x: Arr<f32, (N, M)>, k: Exp<i32>) -> Exp<f32> { x.at((0, k)) }
fn i(x: Arr<f32, (N, M)>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at(i)) }
fn j(x: Arr<f32, (N, M)>) -> Arr<f32, M> { x.row(0) }
