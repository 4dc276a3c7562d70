//! More programs: generic code, own elements and axes, many parameters.
#![allow(clippy::type_complexity)] // the types of whole functions are what is shown here

use slyz::prelude::*;
use slyz::{Align, HasAxis, Innermost};
type R<T = ()> = Result<T, slyz::Error>;
axis!(N, M, B);

fn bias2<R: Axis, C: Axis>(x: Arr<f32, (R, C)>, b: Arr<f32, C>) -> Arr<f32, (R, C)> {
    x * x + b
}
fn bias<S>(x: Arr<f32, S>, b: Arr<f32, S::Axis>) -> Arr<f32, S>
where
    S: Inner + Align<<S as HasAxis<Innermost>>::Axis, Out = S>,
{
    x * 2.0 + b
}
fn layer_norm<S: Inner>(x: Arr<f32, S>) -> Arr<f32, S> {
    // any rank, along the innermost axis
    let mean = x.innermost().sum();
    tabulate(|p: Pos<S>| x.at(p)) + fill::<f32, S>(0.0) * mean.sum()
}
fn twice<T: Num, S: Shape>(x: Arr<T, S>) -> Arr<T, S> {
    x + x
}
fn poly<T: Float, S: Shape>(x: Arr<T, S>, c: &[f64]) -> Arr<T, S> {
    x.map(|x| c.iter().rev().fold(lit(T::ZERO), |a, &c| a * x + T::of(c)))
}

// a user's own element
#[derive(Clone, Copy, Debug, PartialEq, slyz::Elem)]
struct Rgb<T> {
    r: T,
    g: T,
    b: T,
}
// a user's own axis combinator
struct Half<A>(std::marker::PhantomData<A>);
impl<A: Axis> Axis for Half<A> {
    fn size() -> slyz::Extent {
        slyz::Extent::fixed(2)
    }
    fn name() -> String {
        "half".into()
    }
}

struct Model {
    step: Compiled<fn(Arr<f32, N>, Exp<f32>) -> (Arr<f32, N>, Exp<f32>)>,
} // nameable

#[allow(clippy::too_many_arguments)]
fn twelve(
    a: Exp<f32>,
    b: Exp<f32>,
    c: Exp<i32>,
    d: Exp<f32>,
    e: Arr<f32, N>,
    f: Arr<f32, N>,
    g: Arr<f64, M>,
    h: Arr<u32, N>,
    i: Exp<f32>,
    j: Exp<f32>,
    k: Exp<bool>,
    l: Arr<(f32, u32), B>,
) -> (Exp<f32>, Arr<f32, N>, Arr<f64, M>, Arr<u32, B>) {
    (k.select(a + b, c.cast::<f32>() * d + i * j), e + f * h.map(|x| x.cast::<f32>()), g, l.map(|(_, n)| n))
}
#[test]
fn more() -> R {
    assert_eq!(compile(bias2::<N, M>)?.call(&[[1f32, 2.]], &[1f32, 1.])?.to_vec()?, [2., 5.]);
    assert_eq!(compile(bias::<(N, M)>)?.call(&[[1f32, 2.]], &[1f32, 1.])?.to_vec()?, [3., 5.]);
    assert_eq!(compile(bias::<M>)?.call(&[1f32, 2.], &[1f32, 1.])?.to_vec()?, [3., 5.]);
    let _ = compile(layer_norm::<(B, N, M)>)?;
    let _ = compile(twice::<i32, (B, N)>)?;
    assert_eq!(compile(|x: Arr<f64, N>| poly(x, &[1., 2., 3.]))?.call(&[2f64])?.to_vec()?, [17.]);
    let f = compile(|x: Arr<Rgb<f32>, N>| x.map(|c| Rgb { r: c.b, g: c.r * 2.0, b: lit(1.0) }))?;
    assert_eq!(f.call(&[Rgb { r: 1f32, g: 2., b: 3. }])?.to_vec()?, [Rgb { r: 3., g: 2., b: 1. }]);
    let f = compile(|x: Arr<f32, Half<N>>| x * 2.0)?;
    assert_eq!(f.call(&[1f32, 2.])?.to_vec()?, [2., 4.]);
    let m = Model { step: compile(|x: Arr<f32, N>, a: Exp<f32>| (x * a, x.sum()))? };
    let (y, s) = m.step.call(&[1f32, 2.], 3.0)?;
    assert_eq!((y.to_vec()?, s.value()?), (vec![3., 6.], 3.));
    let (a, ..) =
        compile(twelve)?.call(1.0, 2.0, 3, 4.0, &[1f32], &[1f32], &[1f64], &[1u32], 1.0, 1.0, true, &[(1f32, 1u32)])?;
    assert_eq!(a.value()?, 3.0);
    // lets without annotations, capture, mixing
    let f = compile(|x: Arr<f32, (N, M)>, a: Exp<f32>| {
        let row = tabulate(|i: Idx<N>| sum(|j| x.at((i, j))));
        let count = sum(|(i, j): Pos<(N, M)>| x.at((i, j)).gt(a).select(1u32, 0));
        let z = tabulate(|(i, j)| x.at((i, j)) / row.at(i));
        (z, count)
    })?;
    let (z, c) = f.call(&[[1f32, 3.], [1., 1.]], 0.9)?;
    assert_eq!((z.to_vec()?, c.value()?), (vec![0.25, 0.75, 0.5, 0.5], 4));
    // a gather map that is in bounds by type
    let f = compile(|x: Arr<f32, (N, M)>| {
        let best = tabulate(|i: Idx<N>| x.row(i).argmax());
        tabulate(|i| x.at((i, best.at(i))))
    })?;
    assert_eq!(f.call(&[[1f32, 3.], [7., 1.]])?.to_vec()?, [3., 7.]);
    Ok(())
}

/// Words of other libraries that are a line of ours.
#[test]
fn words() -> R {
    let f = compile(|a: Arr<f32, (N, M)>, b: Arr<f32, (M, B)>| (a.matmul(b), a.innermost().scan(Sum), a.len()))?;
    let (product, sums, count) = f.call(&[[1f32, 2.], [3., 4.]], &[[5f32], [6.]])?;
    assert_eq!((product.dims(), product.to_vec()?), (&[2, 1][..], vec![17., 39.]));
    assert_eq!((sums.to_vec()?, count.value()?), (vec![1., 3., 3., 7.], 4));
    Ok(())
}

/// Places around a matrix: beside a position, at a computed number, and where there is nothing at all.
#[test]
fn around_matrices() -> R {
    let beside = compile(|x: Arr<f32, (N, M)>| x.map_at(|(i, j), v| v - x.at_or((i - 1, j + 1), 0.5)))?;
    assert_eq!(beside.call(&[[1f32, 2.], [3., 4.]])?.to_vec()?, [0.5, 1.5, 1., 3.5]);
    let lookup = compile(|x: Arr<f32, (N, M)>, i: Exp<i32>, j: Exp<i32>| x.at_or((Near::new(i), Near::new(j)), -1.0))?;
    let rows = [[1f32, 2.], [3., 4.]];
    assert_eq!(lookup.call(&rows, 1, 0)?.value()?, 3.);
    for (i, j) in [(-1, 0), (2, 0), (0, -1), (0, 2)] {
        assert_eq!(lookup.call(&rows, i, j)?.value()?, -1.);
    }
    assert_eq!(lookup.call((&[], [0, 2]), 0, 0)?.value()?, -1.);
    Ok(())
}

/// A choice between constants has a type at once: the host's default, or what something else says.
#[test]
fn constants_to_choose_from() -> R {
    let f = compile(|x: Exp<f32>| {
        let sign = x.gt(0.0).select(3, -3);
        let wide: Exp<i64> = x.gt(0.0).select(1, 2);
        (x * sign.cast::<f32>(), wide, x.lt(0.0).select((0, 0.5), (x.cast::<u8>(), x)).1)
    })?;
    let (product, wide, part) = f.call(-2.0)?;
    assert_eq!((product.value()?, wide.value()?, part.value()?), (6., 2, 0.5));
    Ok(())
}

/// Literals beside scalars of any floating-point type, and of one that is not known yet.
#[test]
fn literals_in_generic_code() -> R {
    fn swish<T: Float>(x: Exp<T>) -> Exp<T> {
        let mut y = (-x).exp() + 1.0;
        y *= 2.0;
        let bounded = (x * 2.0 / y).max(-1.0).clamp(-1.0, 100.0).mul_add(1.0, 0.25);
        (x.gt(0.5) & x.ne(3.0)).select(bounded * T::of(1.0), lit(T::of(0.1)))
    }
    fn both<T: Float>(x: Arr<T, N>) -> Arr<T, N> {
        x.map(swish)
    }
    let expected = |x: f64| if x > 0.5 && x != 3.0 { (x / ((-x).exp() + 1.0)).max(-1.0) + 0.25 } else { 0.1 };
    let points = [-2.0, 0.0, 0.75, 2.0, 3.0];
    let wide = compile(both::<f64>)?.call(&points)?.to_vec()?;
    let narrow = compile(both::<f32>)?.call(&points.map(|x| x as f32))?.to_vec()?;
    let half = compile(both::<f16>)?.call(&points.map(f16::from_f64))?.to_vec()?;
    for (k, x) in points.into_iter().enumerate() {
        assert!((wide[k] - expected(x)).abs() < 1e-12);
        assert!((f64::from(narrow[k]) - expected(x)).abs() < 1e-6);
        assert!((half[k].to_f64() - expected(x)).abs() < 1e-2);
    }
    // A literal is what the type would make of it.
    let f = compile(|x: Exp<f32>| (x * 0.1, 0.1 * x, x + 16777217.0, x.max(1e-45)))?;
    let (after, before, large, small) = f.call(1.0)?;
    assert_eq!((after.value()?, before.value()?), (0.1f32, 0.1f32));
    assert_eq!((large.value()?, small.value()?), (1.0 + 16777217.0f32, 1.0));
    Ok(())
}
