//! A host function is applied to a traced value.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn sigmoid(x: f32) -> f32 { 1.0 / (1.0 + (-x).exp()) }
fn f(x: Arr<f32, N>) -> Arr<f32, N> { x.map(|x| sigmoid(x)) }
fn g(x: Arr<f32, N>) -> Arr<f32, N> { x.map(sigmoid) }
