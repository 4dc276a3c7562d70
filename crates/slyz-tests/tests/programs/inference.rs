//! Corners where rustc's inference or our traces could go wrong.

use slyz::prelude::*;
use slyz::{Align, HasAxis, Innermost};

type Result<T = ()> = std::result::Result<T, slyz::Error>;

axis!(N, M);

/// A where-clause on `Align` must not hide the reflexive implementation.
fn both<S>(x: Arr<f32, S>, b: Arr<f32, S::Axis>) -> Arr<f32, S>
where
    S: Inner + Align<<S as HasAxis<Innermost>>::Axis, Out = S>,
{
    tabulate(|p: Pos<S>| x.at(p) * x.at(p)) + b
}

/// The same, where the product itself needs the reflexive implementation.
fn both_aligned<S>(x: Arr<f32, S>, b: Arr<f32, S::Axis>) -> Arr<f32, S>
where
    S: Inner + Align<<S as HasAxis<Innermost>>::Axis, Out = S>,
{
    x * x + b
}

struct Params {
    r: f32,
    v: [f32; 2],
}

impl Params {
    #[slyz::function(inline)]
    fn price(&self, s: Exp<f32>) -> Exp<f32> {
        let mut t = s;
        if s > self.r {
            t = s * self.v[0]
        } else {
            t += self.v[1]
        }
        t
    }

    const LIMIT: f32 = 4.0;

    /// The body of a shared function sees `Self`.
    #[slyz::function]
    fn limited(x: Exp<f32>) -> Exp<f32> {
        if x > Self::LIMIT { Self::LIMIT } else { x }
    }
}

#[slyz::function]
fn nested(x: Arr<f32, (N, M)>) -> Arr<f32, N> {
    tabulate(|i| {
        let s = sum(|j| if x.at((i, j)) > 0.0 { x.at((i, j)) } else { 0.0 });
        if s > 10.0 {
            return lit(10.0);
        }
        s
    })
}

#[test]
fn bounds() -> Result {
    let f = compile(both::<(N, M)>)?;
    assert_eq!(f.call(&[[1f32, 2.]], &[1f32, 1.])?.to_vec()?, [2., 5.]);
    let f = compile(both_aligned::<(N, M)>)?;
    assert_eq!(f.call(&[[1f32, 2.]], &[1f32, 1.])?.to_vec()?, [2., 5.]);
    Ok(())
}

#[test]
fn methods() -> Result {
    let p = Params { r: 1.0, v: [2.0, 3.0] };
    let f = compile(|x: Arr<f32, N>| x.map(|x| p.price(x)))?;
    assert_eq!(f.call(&[0f32, 5.])?.to_vec()?, [3., 10.]);
    let f = compile(|x: Arr<f32, N>| x.map(Params::limited))?;
    assert_eq!(f.call(&[3f32, 5.])?.to_vec()?, [3., 4.]);
    Ok(())
}

#[test]
fn nested_bodies() -> Result {
    assert_eq!(compile(nested)?.call(&[[1f32, -3.], [9., 9.]])?.to_vec()?, [1., 10.]);
    let f = compile(|x: Arr<f32, (N, M)>| x.map_at(|(i, j), v| v * i.to::<f32>() + x.at(((i - 1).clamp(), j))))?;
    assert_eq!(f.call(&[[1f32], [3.]])?.to_vec()?, [1., 4.]);
    Ok(())
}

/// Compiling while tracing: two traces, no confusion.
#[test]
fn compile_inside_compile() -> Result {
    let f = compile(|x: Arr<f32, N>| {
        let inner = || compile(|y: Arr<f32, N>| y.sum())?.call(&[1f32, 2.])?.value();
        x * inner().expect("a function of its own")
    })?;
    assert_eq!(f.call(&[1f32])?.to_vec()?, [3.]);
    Ok(())
}
