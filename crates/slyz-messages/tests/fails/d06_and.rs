//! Rust's `&&` on traced conditions: rustc has no other words for it, so the book has them.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(a: Exp<bool>, b: Exp<bool>) -> Exp<bool> { a && b }
