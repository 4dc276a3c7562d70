//! Structs of arrays without the derive.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Clone, Copy)]
struct Net { w: Arr<f32, N>, rate: Exp<f32> }

fn taken(net: Net) -> Arr<f32, N> { net.w }
fn given(w: Arr<f32, N>) -> Net { Net { w, rate: lit(0.5) } }
fn f() -> Result<(), slyz::Error> { compile(taken)?; Ok(()) }
fn g() -> Result<(), slyz::Error> { compile(given)?; Ok(()) }
fn carried(net: Net) -> Arr<f32, N> { iterate(10, net, |_, net: Net| net).w }
