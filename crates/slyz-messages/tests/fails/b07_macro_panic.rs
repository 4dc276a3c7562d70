//! A branch of a traced `if` cannot panic.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[slyz::function]
fn f(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 { panic!("negative") }
    if x > 1.0 { todo!() } else if x > 2.0 { unimplemented!() } else { unreachable!() }
    if x > 3.0 { assert!(true); }
    x
}
