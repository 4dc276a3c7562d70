//! An element that is not `Copy`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Elem)]
struct Point<T> { x: T, y: T }
#[derive(Clone, Elem)]
struct Pair<A, B>(A, B);
