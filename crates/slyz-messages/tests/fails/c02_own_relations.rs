//! Relations between shapes that do not hold.
#![allow(unused)]
use slyz::prelude::*;
use slyz::{Align, AxisNamed, AxisNo, Shape};

axis!(N, M, Mine);
struct Last;

fn main() {}

impl Align<Mine> for N {
    type Out = Mine;
    fn left(p: Idx<Mine>) -> Idx<N> { todo!() }
    fn right(p: Idx<Mine>) -> Idx<Mine> { p }
}

impl AxisNamed<Mine, Last> for (N, M) {
    type Rest = N;
    const NUMBER: usize = 1;
    fn join(rest: Idx<N>, i: Idx<Mine>) -> (Idx<N>, Idx<M>) { todo!() }
}

impl AxisNo<7> for Mine {
    type Axis = N;
    type Rest = M;
    fn join(rest: Idx<M>, i: Idx<N>) -> Idx<Mine> { todo!() }
}
