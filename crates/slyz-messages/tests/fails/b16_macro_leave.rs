//! `break`, `continue` and `return` out of branches, by name and from the right of `&&`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> { let mut y = x; 'a: for i in 0..3 { if y > 1.0 { for j in 0..3 { break 'a; } } y *= 2.0; } y }
#[slyz::function]
fn g(x: Exp<f32>) -> Exp<f32> { let mut y = x; for i in 0..3 { if y > 1.0 { continue; } y *= 2.0; } y }
#[slyz::function]
fn h(x: Exp<f32>) -> Exp<f32> { let c = x > 1.0 && { return x; }; x }
#[slyz::function]
fn i(x: Exp<f32>) -> Exp<f32> { if x > 1.0 { if x > 2.0 { return x; } } x + 1.0 }
