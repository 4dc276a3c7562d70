//! Options that do not exist.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function(inlin)]
fn f(x: Exp<f32>) -> Exp<f32> { x }
#[slyz::function(inline, always)]
fn g(x: Exp<f32>) -> Exp<f32> { x }
#[slyz::function]
struct S;

// The callers of a rejected function get no errors of their own.
fn user(x: Arr<f32, N>) -> Arr<f32, N> { x.map(f) }
