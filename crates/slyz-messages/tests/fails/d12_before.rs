//! A constant before a scalar whose type is not known yet.
#![allow(unused)]
use slyz::prelude::*;

fn main() {}

fn f<T: Float>(x: Exp<T>) -> Exp<T> { 2.0 * x }
fn g<T: Float>(x: Exp<T>) -> Exp<T> { x * 2 }
