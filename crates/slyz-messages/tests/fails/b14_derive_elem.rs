//! Structs that are not elements.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Clone, Copy, Elem)]
struct Fixed { x: f32, n: u32 }
#[derive(Clone, Copy, Elem)]
struct OneFixed<T> { x: T, n: u32 }
#[derive(Clone, Copy, Elem)]
struct Bounded<T: Float> { x: T }
#[derive(Clone, Copy, Elem)]
enum Variants<T> { A(T), B(T) }
#[derive(Clone, Copy, Elem)]
struct NotAnElement<T> { x: Option<T> }
