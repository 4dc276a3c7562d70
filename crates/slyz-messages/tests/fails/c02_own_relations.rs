//! Relations between shapes that do not hold.
#![allow(unused)]
use slyz::prelude::*;
use slyz::{Align, AxisNamed, AxisNo, HasAxis, Shape};

axis!(N, M, Mine);
struct Last;

fn main() {}

impl Align<Mine> for N {
    type Out = Mine;
    fn left(p: Idx<Mine>) -> Idx<N> { todo!() }
    fn right(p: Idx<Mine>) -> Idx<Mine> { p }
}

impl HasAxis<Last> for (N, M) {
    type Axis = Mine;
    type Rest = N;
    fn number() -> usize { 7 }
}

impl AxisNamed<Mine, Last> for (N, M) {}

impl AxisNo<7> for Mine {}
