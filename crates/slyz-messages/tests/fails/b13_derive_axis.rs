//! Types that are not an axis of variants.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Axis)]
struct NotAnEnum;
#[derive(Axis)]
enum Empty {}
#[derive(Axis)]
enum Filled { A, B(u32) }
#[derive(Axis)]
enum Numbered { A, B = 7 }
#[derive(Axis)]
enum Generic<T> { A, B }
