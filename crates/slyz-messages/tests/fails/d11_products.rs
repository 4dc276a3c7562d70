//! Products whose axes do not meet, and letters that stand for two axes.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(a: Arr<f32, (N, K)>, b: Arr<f32, (M, K)>) { let c = a.matmul(b); }
fn g(a: Arr<f32, (N, K)>, b: Arr<f32, (M, K)>) -> Arr<f32, (N, M)> { einsum!("ij,jk->ik", a, b) }
fn h(a: Arr<f32, (N, K)>) -> Arr<f32, N> { einsum!("ij->ik", a) }
fn i(a: Arr<f32, (N, K)>) -> Arr<f32, N> { einsum!("ij,jk->ik", a) }
fn j(x: Arr<f32, N>, k: Exp<i32>) -> Exp<f32> { x.get(k) + 1.0 }
fn k(x: Arr<f32, (N, M)>, k: Exp<i32>) -> Exp<f32> { x.get(k).or(0.0) }
fn l(x: Arr<f32, (N, M)>, y: Arr<f32, (K, M)>) { let z = x.over(M).concat(y); }
