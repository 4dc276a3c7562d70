//! What is no struct of arrays, and options that there are not.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Clone, Copy, Arrays)]
enum Layer { Dense(Arr<f32, N>), None }
#[derive(Clone, Copy, Arrays)]
union Either { w: Arr<f32, N>, rate: Exp<f32> }
#[derive(Clone, Copy, Arrays)]
#[arrays(name = "Weights")]
struct Net { w: Arr<f32, N> }
