//! A traced value is sent to another thread.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f(x: Exp<f32>) { std::thread::spawn(move || x + 1.0); }
