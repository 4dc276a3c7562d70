//! Structs of arrays with fields that are no arrays.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Clone, Copy, Arrays)]
struct Net { w: Arr<f32, N>, turns: usize }
#[derive(Clone, Copy, Arrays)]
struct Named<A: Axis> { w: Arr<f32, A>, name: &'static str }
