//! The indices of a read are swapped.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| sum(|k: Idx<K>| a.at((k, i)) * b.at((k, j))))
}
