//! A branch assigns `self`.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

struct P { last: Exp<f32> }
impl P {
    #[slyz::function(inline)]
    fn method(&mut self, x: Exp<f32>) -> Exp<f32> { if x > 1.0 { self.last = x; } x }
}
