//! Programs as users write them: the contract of the front end.
#![allow(clippy::excessive_precision)] // constants as they are printed in books

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N, M, K);

fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0
        - 0.398_942_3
            * (-l * l / 2.0).exp()
            * horner(k, [0.0, 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]);
    x.lt(0.0).select(1.0 - w, w)
}
fn black_scholes(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (0.02, 0.30);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d2)
    })
}
#[test]
fn bs() -> R {
    let price = slyz::compile(black_scholes)?;
    let (s, x, t) = (vec![100f32, 90.0], [100f32, 100.0], [1f32, 0.5]);
    let c = price.call(&s, &x, &t[..])?.to_vec()?;
    assert!((c[0] - 12.82).abs() < 0.01, "{c:?}");
    Ok(())
}
fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| sum(|k| a.at((i, k)) * b.at((k, j)))) // no annotation at all
}
fn matmul_g<A: Axis, B: Axis, C: Axis>(a: Arr<f32, (A, B)>, b: Arr<f32, (B, C)>) -> Arr<f32, (A, C)> {
    tabulate(|(i, j)| sum(|k| a.at((i, k)) * b.at((k, j))))
}
#[test]
fn mm() -> R {
    let f = compile(matmul)?;
    let a = [[1f32, 2., 3.], [4., 5., 6.]];
    let b = vec![1f32, 0., 0., 1., 1., 1.];
    let c = f.call(&a, &b)?; // K is known from a, so the flat b tells M
    assert_eq!((c.dims(), c.to_vec()?), (&[2, 2][..], vec![4., 5., 10., 11.]));
    let e = f.call(&b, &b).unwrap_err().to_string();
    assert!(
        e.contains("argument 1: a flat slice of 6 elements does not tell N and K apart")
            && e.contains("(&data, [n, k])"),
        "{e}"
    );
    let c = f.call((&b, [2, 3]), (&b, [3, 2]))?;
    assert_eq!(c.dims(), [2, 2]);
    let e = f.call((&b, [2, 3]), (&b, [2, 3])).unwrap_err().to_string();
    assert!(e.contains("axis K is 3 in argument 1, but argument 2 has 2 there"), "{e}");
    // generic: turbofish, or typed tensors decide later
    let _ = compile(matmul_g::<N, K, M>)?;
    let _ = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>| matmul_g(a, b))?;
    let g = compile(matmul_g)?;
    let (ta, tb) =
        (Tensor::<f32, (N, K)>::from_vec([2, 3], b.clone())?, Tensor::<f32, (K, M)>::from_vec([3, 2], b.clone())?);
    let c = g.call(&ta, &tb)?;
    assert_eq!(c.dims(), [2, 2]);
    Ok(())
}
#[test]
fn align() -> R {
    fn f(a: Arr<f32, (N, M)>, b: Arr<f32, M>, c: Exp<f32>) -> Arr<f32, (N, M)> {
        (a + b) * c + 1.0 - 2.0 / (c + b * a)
    }
    let f = compile(f)?;
    assert!(f.sir().contains("tabulate"), "{}", f.sir());
    let y = f.call(&[[1f32, 2.], [3., 4.]], &[10f32, 20.], 2.0)?;
    assert_eq!(y.to_vec()?[0], 11. * 2. + 1. - 2. / (2. + 10.));
    // rank 6 with rank 4, generic same shape
    axis!(A, B, C, D, E, F);
    let _ = compile(|a: Arr<f32, (A, B, C, D, E, F)>, b: Arr<f32, (C, D, E, F)>| a * b)?;
    fn same<S: Shape>(a: Arr<f32, S>, b: Arr<f32, S>) -> Arr<f32, S> {
        a * b + a
    }
    let _ = compile(same::<(A, B)>)?;
    let _ = compile(|a: Arr<f32, (A, B)>, b: Arr<i32, B>| lift2(|x, y| x * y.cast::<f32>(), a, b))?;
    Ok(())
}
#[test]
fn generic_code() -> R {
    fn softmax1<T: Float, C: Axis>(x: Arr<T, C>) -> Arr<T, C> {
        let e = (x - x.max()).exp();
        e / e.sum()
    }
    fn softmax<R: Axis, C: Axis>(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
        stack(|r| softmax1(x.row(r)))
    }
    fn softmax_b<R: Axis, C: Axis>(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
        let m = x.innermost().max();
        let e: Arr<f32, (R, C)> = tabulate(|(r, c)| (x.at((r, c)) - m.at(r)).exp());
        let s = e.innermost().sum();
        tabulate(|(r, c)| e.at((r, c)) / s.at(r))
    }
    fn norm<S: Shape>(x: Arr<f32, S>) -> Exp<f32> {
        (x * x).sum().sqrt()
    }
    fn norm_t<T: Float, S: Shape>(x: Arr<T, S>) -> Exp<T> {
        (x * x).sum().sqrt() * T::of(0.5) + T::ONE
    }
    fn gelu<T: Float>(x: Exp<T>) -> Exp<T> {
        x * T::of(0.5) * ((x + x * x * x * T::of(0.044715)) * T::of(0.7978845608)).tanh()
    }
    for f in [compile(softmax::<N, M>)?, compile(softmax_b::<N, M>)?] {
        let y = f.call(&[[0f32, 0.], [1., 1.]])?;
        assert_eq!(y.to_vec()?, [0.5; 4]);
    }
    assert_eq!(compile(norm::<N>)?.call(&[3f32, 4.])?.value()?, 5.0);
    assert_eq!(compile(norm::<(N, M)>)?.call(&[[3f32, 4.]])?.value()?, 5.0);
    assert_eq!(compile(norm_t::<f64, (N, M)>)?.call(&[[3f64, 4.]])?.value()?, 3.5);
    let _ = compile(|x: Arr<f64, N>| x.map(gelu))?;
    let _ = compile(|x: Arr<f32, N>| x.map(gelu))?;
    Ok(())
}
#[test]
fn folds() -> R {
    // user monoid on tuples: mean and variance by Chan's formula
    fn moments(x: Arr<f32, N>) -> (Exp<f32>, Exp<f32>) {
        let m = monoid((0f32, 0f32, 0f32), |(n, a, s), (m, b, t)| {
            let (k, d) = (n + m, b - a);
            let w = k.gt(0.0).select(m / k, 0.0);
            (k, a + d * w, s + t + d * d * n * w)
        });
        let (n, mean, s) = x.map(|x| (1f32, x, 0f32)).fold(m);
        (mean, s / n)
    }
    let (mean, variance) = compile(moments)?.call(&[1f32, 2., 3., 4.])?;
    assert_eq!((mean.value()?, variance.value()?), (2.5, 1.25));
    // along an axis
    let f = compile(|a: Arr<f32, (N, M)>| {
        (a.axis::<0>().sum(), a.axis::<1>().sum(), a.innermost().sum(), a.over(N).sum())
    })?;
    let (c, r, r2, c2) = f.call(&[[1f32, 2.], [3., 4.]])?;
    assert_eq!(
        (c.to_vec()?, r.to_vec()?, r2.to_vec()?, c2.to_vec()?),
        (vec![4., 6.], vec![3., 7.], vec![3., 7.], vec![4., 6.])
    );
    let f = compile(|a: Arr<f32, (N, N)>| a.axis::<0>().sum())?;
    assert_eq!(f.call(&[[1f32, 2.], [3., 4.]])?.to_vec()?, [4., 6.]);
    // position as a value: argmax, gather
    let f = compile(|x: Arr<f32, N>, y: Arr<i32, N>| y.at(x.argmax()))?;
    assert_eq!(f.call(&[1f32, 9., 3.], &[10, 20, 30])?.value()?, 20);
    let f = compile(|x: Arr<f32, N>| x.scan(Sum))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [1., 3., 6.]);
    let f = compile(|x: Arr<f32, (M, N)>| stack(|i| x.row(i).scan(Sum)))?;
    assert_eq!(f.call(&[[1f32, 2., 3.], [1., 1., 1.]])?.to_vec()?, [1., 3., 6., 1., 2., 3.]);
    Ok(())
}
#[test]
fn positions() -> R {
    // stencils, three ways
    fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
        u.stencil(Border::Clamp, |u| {
            u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0)))
        })
    }
    fn heat2(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
        tabulate(|(i, j): Pos<(N, M)>| {
            let (n, s, w, e) = ((i - 1).clamp(), (i + 1).clamp(), (j - 1).clamp(), (j + 1).clamp());
            let c = u.at((i, j));
            c + 0.1 * (u.at((n, j)) + u.at((s, j)) + u.at((i, w)) + u.at((i, e)) - 4.0 * c)
        })
    }
    let u = [[0f32, 0., 0.], [0., 10., 0.], [0., 0., 0.]];
    assert_eq!(compile(heat)?.call(&u)?.to_vec()?, compile(heat2)?.call(&u)?.to_vec()?);
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at_or(i - 1, 0.0) + x.at_or(i + 1, 0.0)))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [2., 4., 2.]);
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at((i + 1).wrap()) * i.to::<f32>()))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [0., 3., 2.]);
    // Either, Min, Tri, Fix, reversal
    let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| concat(x, y).map(|v| v * 2.0))?;
    assert_eq!(f.call(&[1f32], &[2f32, 3.])?.to_vec()?, [2., 4., 6.]);
    let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| zip_min(x, y).map(|(a, b)| a * b))?;
    assert_eq!(f.call(&[1f32], &[2f32, 3.])?.to_vec()?, [2.]);
    let f = compile(|x: Arr<f32, (N, N)>| tabulate(|p: Idx<Tri<N>>| x.at((p.row(), p.column()))))?;
    assert_eq!(f.call(&[[1f32, 2.], [3., 4.]])?.to_vec()?, [1., 3., 4.]);
    let f = compile(|t: Arr<f32, Tri<N>>, x: Arr<f32, N>| tabulate(|i| sum(|j| t.at(Idx::tri(i, j)) * x.at(j))))?;
    assert_eq!(f.call(&[1f32, 3., 4.], &[1f32, 1.])?.to_vec()?, [4., 7.]);
    let f =
        compile(|x: Arr<f32, (N, Fix<3>)>| tabulate(|i: Idx<N>| x.at((i, fix::<2, 3>())) - x.at((i, fix::<0, 3>()))))?;
    assert_eq!(f.call(&[1f32, 2., 3., 4., 5., 9.])?.to_vec()?, [2., 5.]);
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(i.reversed())))?;
    assert_eq!(f.call(&[1f32, 2.])?.to_vec()?, [2., 1.]);
    // an axis that no argument tells
    let f = compile(iota::<N>)?;
    let e = f.call().unwrap_err().to_string();
    assert!(e.contains("axis N") && e.contains(".size::<N>(n)"), "{e}");
    assert_eq!(f.size::<N>(3).call()?.to_vec()?, [0, 1, 2]);
    // elements that are tuples or small arrays
    let f = compile(|p: Arr<[f32; 3], N>| p.map(|[x, y, z]| (x * x + y * y + z * z).sqrt()))?;
    assert_eq!(f.call(&[[0f32, 3., 4.]])?.to_vec()?, [5.]);
    let f = compile(|p: Arr<(f32, i32), N>| p.map(|(x, k)| (k + 1, x)))?;
    assert_eq!(f.call(&[(2.0f32, 7)])?.to_vec()?, [(8, 2.0)]);
    // loops
    let f = compile(|c: Arr<f32, N>| c.map(|c| iterate(10, c, |_, x: Exp<f32>| (x + c / x) * 0.5)))?;
    assert!((f.call(&[2f32])?.to_vec()?[0] - 2f32.sqrt()).abs() < 1e-6);
    let f =
        compile(|c: Arr<f32, N>| c.map(|c| repeat_while((c, 0u32), |(x, _)| x.gt(1.0), |(x, n)| (x / 2.0, n + 1)).1))?;
    assert_eq!(f.call(&[8f32])?.to_vec()?, [3]);
    Ok(())
}
#[test]
fn filter_scatter() -> R {
    axis!(Kept, Kept2, Bins);
    let f = compile(|x: Arr<f32, N>| {
        let y = x.filter::<Kept>(|v| v.gt(0.0));
        (y * 2.0, y.sum(), y.scan(Sum))
    })?;
    let (a, b, c) = f.call(&[1f32, -1., 3., -2.])?;
    assert_eq!((a.to_vec()?, b.value()?, c.to_vec()?), (vec![2., 6.], 4., vec![1., 4.]));
    let e = compile(|x: Arr<f32, N>| {
        let (y, z) = (x.filter::<Kept>(|v| v.gt(0.0)), x.filter::<Kept>(|v| v.lt(0.0)));
        y.sum() + z.sum()
    })
    .unwrap_err()
    .to_string();
    assert!(e.contains("axis Kept already has its extent from") && e.contains("front_end.rs"), "{e}");
    let e = compile(|x: Arr<f32, (M, N)>| tabulate(|i: Idx<M>| x.row(i).filter::<Kept>(|v| v.gt(0.0)).sum()))
        .unwrap_err()
        .to_string();
    assert!(e.contains("axis Kept would have a different extent at each position"), "{e}");
    let f = compile(|x: Arr<i32, N>| scatter(Sum, |i: Idx<N>| (Near::<Fix<3>>::new(x.at(i)), 1u32)))?;
    assert_eq!(f.call(&[0, 2, 2, 7])?.to_vec()?, [1, 0, 2]);
    let f = compile(|p: Arr<u32, N>, x: Arr<f32, N>| {
        scatter(Sum, |i: Idx<N>| (Near::<N>::new(p.at(i).cast::<i32>()).clamp(), x.at(i)))
    })?;
    assert_eq!(f.call(&[2, 0, 1], &[1f32, 2., 3.])?.to_vec()?, [2., 3., 1.]);
    let f = compile(|v: Arr<f32, Fix<3>>| {
        let [x, y, z] = v.unpack();
        x + y * z
    })?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.value()?, 7.);
    Ok(())
}
#[test]
fn scopes_and_errors() -> R {
    use std::cell::Cell;
    // captured from outside: fine; the invariant part is placed in the outer scope
    let f = compile(|x: Arr<f32, (N, M)>, a: Exp<f32>| {
        tabulate(|i: Idx<N>| {
            let s = a * 2.0;
            sum(|j: Idx<M>| x.at((i, j)) * s * i.to::<f32>())
        })
    })?;
    assert_eq!(f.call(&[[1f32, 2.], [3., 4.]], 2.0)?.to_vec()?, [0., 28.]);
    // escape, on purpose, through a Cell
    let e = compile(|x: Arr<f32, N>| {
        let leak = Cell::new(None);
        let y = x.map(|v| {
            leak.set(Some(v));
            v
        });
        y * leak.get().unwrap()
    });
    let e = e.unwrap_err().to_string();
    assert!(e.contains("a value has left the `tabulate` body it belongs to") && e.contains("front_end.rs"), "{e}");
    // from another trace
    let leak = Cell::new(None);
    compile(|x: Arr<f32, N>| {
        leak.set(Some(x));
        x
    })?;
    let e = compile(|x: Arr<f32, N>| x + leak.get().unwrap());
    let e = e.unwrap_err().to_string();
    assert!(e.contains("a value of another traced function is used here") && e.contains("front_end.rs"), "{e}");
    let _ = leak.get().unwrap() * 2.0; // outside of any trace: nothing happens
    let dead = lit(1.0f32) + 2.0;
    let e = compile(|x: Arr<f32, N>| x + dead);
    let e = e.unwrap_err().to_string();
    assert!(e.contains("outside of any traced function") && e.contains("front_end.rs"), "{e}");
    // a panic in the user's body leaves the thread usable
    let r = std::panic::catch_unwind(|| {
        let _ = compile(|x: Arr<f32, N>| {
            x.map(|v| {
                if true {
                    panic!("user")
                }
                v
            })
        });
    });
    assert!(r.is_err());
    assert_eq!(compile(|x: Arr<f32, N>| x.sum())?.call(&[1f32, 2.])?.value()?, 3.0);
    Ok(())
}
