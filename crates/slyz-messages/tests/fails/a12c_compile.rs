//! The type of the parameter is missing.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

fn f() -> Result<(), slyz::Error> { compile(|x| x)?; Ok(()) }
