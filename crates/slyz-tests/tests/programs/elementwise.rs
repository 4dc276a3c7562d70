//! Arrays element by element, along one axis, and compound arguments: every device against plain Rust, from size 0 on.
#![allow(clippy::type_complexity)]

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N, M, K);

/// The same on the best device and on the interpreter, which is the meaning.
macro_rules! on_both {
    ($f:expr, |$g:ident| $check:block) => {{
        let $g = compile($f)?;
        $check
        let $g = compile_on(&slyz::device("interpreter")?, $f)?;
        $check
    }};
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|k| ((k * 37 + 11) % 17) as f32 - 8.0).collect()
}

#[test]
fn two_sides() -> R {
    on_both!(
        |x: Arr<f32, N>, y: Arr<f32, N>, a: Exp<f32>| {
            let between = x.ge(y).select(x, y).clamp(-2.0, a);
            (x.maximum(y), x.minimum(a).minimum(1.0), between, x.abs().powf(2.0), x.mul_add(a, y))
        },
        |f| {
            for n in [0, 1, 2, 100] {
                let (x, y) = (numbers(n), numbers(n + 5)[5..].to_vec());
                let (most, least, between, squares, line) = f.call(&x, &y, 3.0)?;
                let pairs = || x.iter().zip(&y);
                assert_eq!(most.to_vec()?, pairs().map(|(x, y)| x.max(*y)).collect::<Vec<_>>());
                assert_eq!(least.to_vec()?, x.iter().map(|x| x.min(3.0).min(1.0)).collect::<Vec<_>>());
                assert_eq!(between.to_vec()?, pairs().map(|(x, y)| x.max(*y).clamp(-2.0, 3.0)).collect::<Vec<_>>());
                assert_eq!(squares.to_vec()?, x.iter().map(|x| x * x).collect::<Vec<_>>());
                assert_eq!(line.to_vec()?, pairs().map(|(x, y)| x * 3.0 + y).collect::<Vec<_>>());
            }
        }
    );
    Ok(())
}

#[test]
fn comparisons_of_every_kind() -> R {
    on_both!(
        |x: Arr<f32, (N, M)>, y: Arr<f32, M>| {
            (x.lt(y) ^ x.gt(0.0), x.eq(y) | !x.le(y), x.ne(y) & true, x.is_nan(), y.ge(x))
        },
        |f| {
            let nan = f32::NAN;
            let (a, b, c, d, e) = f.call(&[[1f32, nan, 3.], [-1., 0., 9.]], &[1f32, 0., nan])?;
            assert_eq!(a.to_vec()?, [true, false, true, true, false, true]);
            assert_eq!(b.to_vec()?, [true, true, true, false, true, true]);
            assert_eq!(c.to_vec()?, [false, true, true, true, false, true]);
            assert_eq!(d.to_vec()?, [false, true, false, false, false, false]);
            assert_eq!(e.to_vec()?, [true, false, false, true, true, false]);
        }
    );
    on_both!(|x: Arr<i8, N>| ((x << 1) >> 1, 1i8 << x.cast::<i8>(), x.count_ones(), x.sign()), |f| {
        let (a, b, c, d) = f.call(&[-3i8, 2])?;
        assert_eq!((a.to_vec()?, b.to_vec()?[1], c.to_vec()?, d.to_vec()?), (vec![-3, 2], 4, vec![7, 1], vec![-1, 1]));
    });
    Ok(())
}

#[test]
fn selections_of_tuples() -> R {
    on_both!(|x: Arr<(f32, i32), N>, keep: Arr<bool, N>| keep.select(x, x.reverse()), |f| {
        let x = [(1f32, 1), (2., 2), (3., 3)];
        assert_eq!(f.call(&x, &[true, true, false])?.to_vec()?, [x[0], x[1], x[0]]);
        assert!(f.call(&x[..0], &[])?.to_vec()?.is_empty());
    });
    // Without axes, too.
    let f = compile(|x: Arr<f32, ()>| x.gt(0.0).select(x + 1.0, 5.0))?;
    assert_eq!(f.call((&[2f32], []))?.value()?, 3.0);
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, slyz::Elem)]
struct Point<T> {
    x: T,
    y: T,
}

#[derive(Clone, Copy, Debug, PartialEq, slyz::Elem)]
struct Sphere<T, C> {
    centre: [T; 3],
    radius: T,
    colour: (C, C),
}

#[test]
fn sums_of_parts() -> R {
    on_both!(
        |p: Arr<Point<f32>, N>, q: Arr<([u32; 2], f64), (N, M)>| (
            p.sum(),
            q.axis::<0>().sum(),
            q.over(M).sum(),
            p.scan(Sum)
        ),
        |f| {
            let at = |k: usize| Point { x: k as f32, y: 1.0 };
            for n in [0usize, 1, 3] {
                let p: Vec<_> = (0..n).map(at).collect();
                let q: Vec<_> = (0..2 * n).map(|k| ([k as u32, 1], k as f64)).collect();
                let (p, columns, rows, prefixes) = f.call(&p, (&q, [n, 2]))?;
                let total = (n * n.saturating_sub(1) / 2) as f32;
                assert_eq!(p.value()?, Point { x: total, y: n as f32 });
                let even = (0..n).map(|k| 2 * k as u32).sum::<u32>();
                assert_eq!(columns.to_vec()?[0], ([even, n as u32], even as f64));
                assert_eq!(
                    rows.to_vec()?,
                    (0..n).map(|k| ([4 * k as u32 + 1, 2], 4. * k as f64 + 1.)).collect::<Vec<_>>()
                );
                assert_eq!(prefixes.to_vec()?.last().copied(), (n > 0).then_some(Point { x: total, y: n as f32 }));
            }
        }
    );
    Ok(())
}

#[test]
fn means() -> R {
    on_both!(|x: Arr<f32, (N, M)>| (x.mean(), x.axis::<0>().mean(), x.over(M).mean(), x.innermost().mean()), |f| {
        let (all, columns, rows, inner) = f.call(&[[1f32, 2., 6.], [3., 4., 8.]])?;
        assert_eq!((all.value()?, columns.to_vec()?), (4.0, vec![2., 3., 7.]));
        assert_eq!((rows.to_vec()?, inner.to_vec()?), (vec![3., 5.], vec![3., 5.]));
        let (all, columns, rows, _) = f.call((&[0f32; 0], [0, 2]))?;
        assert!(all.value()?.is_nan() && columns.to_vec()?.iter().all(|mean| mean.is_nan()));
        assert_eq!((columns.len(), rows.len()), (2, 0));
    });
    // The sum and the count are past the largest `f16`.
    on_both!(|x: Arr<f16, N>| x.mean(), |f| {
        assert_eq!(f.call(&vec![f16::from_f32(2.0); 100_000])?.value()?, f16::from_f32(2.0));
    });
    let f = compile(|x: Arr<f64, ()>| x.mean())?;
    assert_eq!(f.call((&[2f64], []))?.value()?, 2.0);
    Ok(())
}

#[test]
fn best_along_an_axis() -> R {
    on_both!(|x: Arr<i32, (N, M, K)>| (x.axis::<1>().argmax(), x.over(N).argmin(), x.innermost().argmax()), |f| {
        let x = [[[1, 9], [3, 9]], [[0, 2], [7, 1]], [[5, 5], [5, 5]]];
        let (a, b, c) = f.call(&x)?;
        let places = |at: Vec<u64>| at;
        assert_eq!(a.to_vec()?.iter().map(|at| at.get()).collect::<Vec<_>>(), places(vec![1, 0, 1, 0, 0, 0]));
        assert_eq!(b.to_vec()?.iter().map(|at| at.get()).collect::<Vec<_>>(), places(vec![1, 1, 0, 1]));
        assert_eq!(c.to_vec()?.iter().map(|at| at.get()).collect::<Vec<_>>(), places(vec![1, 1, 1, 0, 0, 0]));
        let e = f.call((&[0; 0], [2, 0, 2])).unwrap_err().to_string();
        assert!(e.contains("axis M is empty"), "{e}");
    });
    Ok(())
}

#[test]
fn scans_along_every_axis() -> R {
    // Digits appended: associative, not commutative.
    on_both!(
        |x: Arr<u64, (N, M, K)>| {
            let digits = || monoid((0u64, 1u64), |(a, p), (b, q)| (a * q + b, p * q));
            let x = x.map(|d| (d, 10u64));
            let first = |y: Arr<(u64, u64), (N, M, K)>| y.map(|(a, _)| a);
            (
                [
                    first(x.axis::<0>().scan(digits())),
                    first(x.over(M).scan(digits())),
                    first(x.innermost().scan(digits())),
                ],
                [
                    first(x.axis::<0>().scan_exclusive(digits())),
                    first(x.over(M).scan_exclusive(digits())),
                    first(x.innermost().scan_exclusive(digits())),
                ],
            )
        },
        |f| {
            for dims in [[2, 3, 4], [1, 1, 1], [0, 2, 3], [2, 0, 3], [3, 2, 0], [5, 1, 2]] {
                let [n, m, k] = dims;
                let x: Vec<u64> = (0..n * m * k).map(|i| (i * 7 % 10) as u64).collect();
                let (inclusive, exclusive) = f.call((&x, dims))?;
                for (axis, (inclusive, exclusive)) in inclusive.iter().zip(&exclusive).enumerate() {
                    let step = [m * k, k, 1][axis];
                    let (inclusive, exclusive) = (inclusive.to_vec()?, exclusive.to_vec()?);
                    for at in 0..x.len() {
                        let place = at / step % dims[axis];
                        let before = (0..place).fold(0, |sum, j| sum * 10 + x[at - (place - j) * step]);
                        assert_eq!(exclusive[at], before, "{dims:?} axis {axis} at {at}");
                        assert_eq!(inclusive[at], before * 10 + x[at], "{dims:?} axis {axis} at {at}");
                    }
                }
            }
        }
    );
    Ok(())
}

#[test]
fn slices_and_reversals_along_an_axis() -> R {
    on_both!(
        |x: Arr<f32, (N, M)>| (
            x.axis::<0>().slice::<Fix<1>>(1),
            x.axis::<1>().slice::<K>(0),
            x.axis::<1>().reverse(),
            x.over(N).reverse()
        ),
        |f| {
            let f = f.size::<K>(2);
            let (a, b, c, d) = f.call(&vec![[1f32, 2., 3.], [4., 5., 6.]])?;
            assert_eq!((a.dims(), a.to_vec()?), (&[1, 3][..], vec![4., 5., 6.]));
            assert_eq!((b.dims(), b.to_vec()?), (&[2, 2][..], vec![1., 2., 4., 5.]));
            assert_eq!((c.to_vec()?, d.to_vec()?), (vec![3., 2., 1., 6., 5., 4.], vec![4., 5., 6., 1., 2., 3.]));
            let e = f.call(&[[1f32, 2., 3.]]).unwrap_err().to_string();
            assert!(e.contains("a slice needs 2 elements, but there are N = 1"), "{e}");
            assert!(f.call(&[[1f32], [2.]]).is_err());
        }
    );
    on_both!(|x: Arr<f32, (N, M)>| x.axis::<0>().reverse(), |f| {
        assert_eq!(f.call((&[0f32; 0], [0, 3]))?.dims(), [0, 3]);
        assert_eq!(f.call((&[0f32; 0], [3, 0]))?.dims(), [3, 0]);
    });
    Ok(())
}

#[test]
fn compound_arguments_and_results() -> R {
    on_both!(
        |s: Sphere<Exp<f32>, Exp<u8>>, (i, by): (Idx<N>, Exp<f32>), x: Arr<f32, N>, pair: [Exp<i32>; 2]| {
            let [a, b] = pair;
            let moved = Sphere { centre: s.centre.map(|c| c * by + x.at(i)), ..s };
            (moved, [b, a], Point { x: s.radius, y: by })
        },
        |f| {
            let sphere = Sphere { centre: [1f32, 2., 3.], radius: 4., colour: (5u8, 6) };
            let (moved, [b, a], point) = f.call(sphere, (At::new(1), 10.0), &[100f32, 200.], [7, 8])?;
            assert_eq!(moved.value()?, Sphere { centre: [210., 220., 230.], ..sphere });
            assert_eq!((b.value()?, a.value()?, point.value()?), (8, 7, Point { x: 4., y: 10. }));
            // A result is an argument again.
            let (moved, ..) = f.call(&moved, (At::new(0), 0.0), &[100f32], [7, 8])?;
            assert_eq!(moved.value()?.centre, [100.; 3]);
            let e = f.call(sphere, (At::new(2), 10.0), &[100f32, 200.], [7, 8]).unwrap_err().to_string();
            assert!(e.contains("N") && e.contains("2"), "{e}");
        }
    );
    Ok(())
}

#[test]
fn rows_as_arguments() -> R {
    let f = compile(|x: Arr<f32, (N, M)>| x.over(N).sum())?;
    let rows = vec![[1f32, 2., 3.], [4., 5., 6.]];
    assert_eq!(f.call(&rows)?.to_vec()?, [5., 7., 9.]);
    assert_eq!(f.call(&rows[..1])?.to_vec()?, [1., 2., 3.]);
    assert_eq!(f.call(&rows[..0])?.to_vec()?, [0., 0., 0.]);
    let f = compile(|x: Arr<f32, (N, M, K)>| x.axis::<0>().sum())?;
    assert_eq!(f.call(&vec![[[1f32, 2.]], [[3., 4.]]])?.dims(), [1, 2]);
    // The same data as an array of small arrays.
    let f = compile(|x: Arr<[f32; 3], N>| x.map(|[a, b, c]| a + b * c))?;
    assert_eq!(f.call(&rows)?.to_vec()?, [7., 34.]);
    let f = compile(|x: Arr<f32, (Fix<2>, Fix<2>)>| x.sum())?;
    let e = f.call(&rows).unwrap_err().to_string();
    assert!(e.contains('2') && e.contains('3'), "{e}");
    Ok(())
}
