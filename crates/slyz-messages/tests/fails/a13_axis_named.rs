//! A fold over an axis that is named twice, or is not there.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, (N, N)>) -> Arr<f32, N> { x.over(N).sum() }
fn g(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.over(K).sum() }
fn l(x: Arr<bool, (N, M)>) -> Arr<bool, N> { x.over(M).sum() }
fn k(x: Exp<f32>, y: Arr<f32, ()>) -> Exp<f32> { x.max(y.innermost().sum()) }
fn h(x: Arr<f32, (N, M)>) -> Arr<f32, N> { x.axis::<2>().sum() }
