//! States of loops that change from turn to turn, or that no loop can carry.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn narrower(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { iterate(10, x, |_, x: Arr<f32, (N, M)>| x.row(fix::<0, 1>())) }
fn another(x: Arr<f32, N>) -> Arr<f32, N> { iterate(10, x, |_, x: Arr<f32, N>| x.sum()) }
fn grown(x: Arr<f32, N>) -> Arr<f32, N> { repeat_while(x, |x: Arr<f32, N>| x.sum(), |x| x * 0.5) }
fn text(x: Arr<f32, N>) -> Arr<f32, N> { iterate(10, (x, "no number"), |_, (x, name)| (x * 0.5, name)).0 }
