//! Structs of arrays that are not `Copy`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Arrays)]
struct Net { w: Arr<f32, N>, rate: Exp<f32> }
#[derive(Clone, Arrays)]
struct Layer<A: Axis> { w: Arr<f32, A> }
