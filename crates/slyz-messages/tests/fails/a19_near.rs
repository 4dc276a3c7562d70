//! A neighbour is read without saying what happens at the border.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at(i + 1) - x.at(i)) }
