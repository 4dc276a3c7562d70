//! Signatures that cannot stay a function.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

struct P { r: f32 }
impl P {
    #[slyz::function]
    fn method(&self, x: Exp<f32>) -> Exp<f32> { x * self.r }
}
#[slyz::function]
async fn f(x: Exp<f32>) -> Exp<f32> { x }
#[slyz::function]
unsafe fn g(x: Exp<f32>) -> Exp<f32> { x }
#[slyz::function]
const fn h(x: Exp<f32>) -> Exp<f32> { x }
#[slyz::function]
fn i(x: Exp<f32>) -> impl Copy { x }
type E = Exp<f32>;
#[slyz::function]
fn j(a: E, b: E, c: E, d: E, e: E, f: E, g: E, h: E, i: E, j: E, k: E, l: E, m: E) -> E { a }
