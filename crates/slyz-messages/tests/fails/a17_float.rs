//! A float operation on integers.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<i32>) -> Exp<i32> { x.exp() }
