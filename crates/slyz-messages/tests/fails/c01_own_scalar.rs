//! A scalar of one's own, whose values would be taken for positions.
#![allow(unused)]
use slyz::prelude::*;
use slyz::{Elem, Leaf, Ty};

axis!(N);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Place(i64);

fn main() {}

impl Elem for Place {
    type Exp = Exp<Place>;
    fn parts() -> Vec<Leaf> { vec![Leaf::positions::<N>()] }
    fn store(self, out: &mut Vec<slyz::__private::Scalar>) { self.0.store(out) }
    fn load(next: &mut dyn FnMut() -> slyz::__private::Scalar) -> Self { Place(i64::load(next)) }
}

impl Lift<Place> for Place {
    fn lift(self) -> Exp<Place> { self.into() }
}

impl Scalar for Place {
    const TY: Ty = Ty::I64;
    fn scalar(self) -> slyz::__private::Scalar { self.0.scalar() }
    fn from_scalar(value: slyz::__private::Scalar) -> Self { Place(i64::from_scalar(value)) }
    fn fill(_: &mut [Self], _: &[u8]) {}
}
