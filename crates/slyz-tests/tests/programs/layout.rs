//! Other views of the same elements, stencils and gathers.

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N, M, K, L);

#[test]
fn axes_in_another_order() -> R {
    let x: Vec<f32> = (0..24).map(|k| k as f32).collect();
    let f = compile(|x: Arr<f32, (N, M, K)>| (x.permute_axes::<2, 0, 1>(), x.permute_axes::<1, 2, 0>()))?;
    let (a, b) = f.call((&x, [2, 3, 4]))?;
    assert_eq!((a.dims(), b.dims()), (&[4, 2, 3][..], &[3, 4, 2][..]));
    let at = |i: usize, j: usize, k: usize| x[(i * 3 + j) * 4 + k];
    assert_eq!(a.to_vec()?[(3 * 2 + 1) * 3 + 2], at(1, 2, 3));
    assert_eq!(b.to_vec()?[(2 * 4 + 3) * 2 + 1], at(1, 2, 3));
    let f = compile(|x: Arr<f32, (N, M)>| x.permute_axes::<1, 0>())?;
    assert_eq!(f.call(&[[1f32, 2.]])?.dims(), [2, 1]);
    let f = compile(|x: Arr<f32, (N, M, K, L)>| x.permute_axes::<3, 2, 1, 0>())?;
    assert_eq!(f.call((&x, [1, 2, 3, 4]))?.dims(), [4, 3, 2, 1]);
    Ok(())
}

#[test]
fn parts() -> R {
    let f = compile(|x: Arr<f32, N>| (x.slice::<Fix<2>>(1), x.reverse()))?;
    let (a, b) = f.call(&[1f32, 2., 3.])?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2., 3.], vec![3., 2., 1.]));
    let e = f.call(&[1f32, 2.]).unwrap_err().to_string();
    assert!(e.contains("a slice needs 3 elements, but there are N = 2"), "{e}");
    let f = compile(|x: Arr<f32, N>| x.slice::<M>(1))?;
    let e = f.clone().size::<M>(3).call(&[1f32, 2., 3.]).unwrap_err().to_string();
    assert!(e.contains("(1 + M) = 4 elements, but there are N = 3"), "{e}");
    assert_eq!(f.size::<M>(1).call(&[1f32, 2., 3.])?.to_vec()?, [2.]);
    let f =
        compile(|x: Arr<f32, (N, M)>| (tabulate(|i: Idx<N>| x.row(i).sum()), tabulate(|j: Idx<M>| x.column(j).sum())))?;
    let (rows, columns) = f.call(&[[1f32, 2.], [3., 4.]])?;
    assert_eq!((rows.to_vec()?, columns.to_vec()?), (vec![3., 7.], vec![4., 6.]));
    Ok(())
}

#[test]
fn other_shapes() -> R {
    let x: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let f = compile(|x: Arr<f32, (N, M)>| x.flatten())?;
    assert_eq!((f.call((&x, [3, 4]))?.dims(), f.call((&x, [3, 4]))?.to_vec()?), (&[12][..], x.clone()));
    let f = compile(|x: Arr<f32, (N, M, K)>| x.flatten().sum())?;
    assert_eq!(f.call((&x, [3, 2, 2]))?.value()?, 66.);
    let f = compile(|x: Arr<f32, (N, M)>| x.reshape::<(K, Fix<2>)>())?.size::<K>(6);
    let y = f.call((&x, [3, 4]))?;
    assert_eq!((y.dims(), y.to_vec()?), (&[6, 2][..], x.clone()));
    let e = f.call((&x[..9], [3, 3])).unwrap_err().to_string();
    assert!(e.contains("(N * M) = 9 and (K * 2) = 12 must be equal"), "{e}");
    let e = compile(|x: Arr<f32, Fix<6>>| x.reshape::<(Fix<2>, Fix<2>)>()).unwrap_err().to_string();
    assert!(e.contains("6 elements cannot become 4") && e.contains("layout.rs"), "{e}");
    let f = compile(|x: Arr<f32, Fix<6>>| x.reshape::<(Fix<2>, Fix<3>)>().transpose())?;
    assert_eq!(f.call(&[0f32, 1., 2., 3., 4., 5.])?.to_vec()?, [0., 3., 1., 4., 2., 5.]);
    // The flat axis as a parameter tells what is left.
    let f = compile(|x: Arr<f32, Flat<N, Fix<3>>>| tabulate(|(i, j)| x.at(Idx::flat(i, j))).axis::<1>().sum())?;
    assert_eq!(f.call(&x)?.to_vec()?, [3., 12., 21., 30.]);
    Ok(())
}

/// A circle of any length, also shorter than the step, once round and more, forwards and back.
#[test]
fn circles() -> R {
    fn around(x: Arr<i32, N>) -> [Arr<i32, N>; 4] {
        [
            x.stencil(Border::Wrap, |x| x(-7) * 10_000 + x(-1) * 1_000 + x(1) * 100 + x(7)),
            tabulate(|i: Idx<N>| x.at((i - 7).wrap()) * 10_000 + x.at((i + 1).wrap()) * 100 + x.at((i + 9 - 2).wrap())),
            tabulate(|i: Idx<N>| x.at((i + lit(-7i64)).wrap()) * 10_000 + x.at((i + 1 + lit(6i64)).wrap())),
            tabulate(|i: Idx<N>| x.at((i + i64::MAX).wrap()) * 10_000 + x.at((i - i64::MAX - 1).wrap())),
        ]
    }
    fn square(x: Arr<i32, (N, M)>) -> Arr<i32, (N, M)> {
        x.stencil(Border::Wrap, |x| x((-1, -2)) * 10_000 + x((3, 1)) * 100 + x((0, 5)))
    }
    for device in crate::devices() {
        let (f, g) = (compile_on(&device, around)?, compile_on(&device, square)?);
        for n in [0i128, 1, 2, 3, 6, 7, 8, 15, 16, 17, 40] {
            let x: Vec<i32> = (0..n as i32).map(|k| k + 10).collect();
            let at = |i: i128| x[i.rem_euclid(n) as usize];
            let [a, b, c, d] = f.call(&x)?;
            let expected = |f: &dyn Fn(i128) -> i32| (0..n).map(f).collect::<Vec<i32>>();
            let far = i64::MAX as i128;
            assert_eq!(
                a.to_vec()?,
                expected(&|i| at(i - 7) * 10_000 + at(i - 1) * 1_000 + at(i + 1) * 100 + at(i + 7))
            );
            assert_eq!(b.to_vec()?, expected(&|i| at(i - 7) * 10_000 + at(i + 1) * 100 + at(i + 7)));
            assert_eq!(c.to_vec()?, expected(&|i| at(i - 7) * 10_000 + at(i + 7)));
            assert_eq!(d.to_vec()?, expected(&|i| at(i + far) * 10_000 + at(i - far - 1)));
            for m in [0i128, 1, 2, 33] {
                let x: Vec<i32> = (0..(n * m) as i32).map(|k| k % 97).collect();
                let at = |i: i128, j: i128| x[(i.rem_euclid(n) * m + j.rem_euclid(m)) as usize];
                let cell = |k: i128| {
                    let (i, j) = (k / m, k % m);
                    at(i - 1, j - 2) * 10_000 + at(i + 3, j + 1) * 100 + at(i, j + 5)
                };
                let expected: Vec<i32> = (0..n * m).map(cell).collect();
                assert_eq!(g.call((&x, [n as usize, m as usize]))?.to_vec()?, expected, "{n} × {m}");
            }
        }
    }
    Ok(())
}

#[test]
fn borders() -> R {
    let f = compile(|x: Arr<i32, N>| {
        let near = |border| x.stencil(border, |x| x(-1) * 100 + x(0) * 10 + x(1));
        (near(Border::Clamp), near(Border::Wrap), near(Border::Value(7)))
    })?;
    let (clamp, wrap, value) = f.call(&[1, 2, 3])?;
    assert_eq!(clamp.to_vec()?, [112, 123, 233]);
    assert_eq!(wrap.to_vec()?, [312, 123, 231]);
    assert_eq!(value.to_vec()?, [712, 123, 237]);
    let f = compile(|x: Arr<f32, (N, M)>| x.stencil(Border::Value(0.0), |x| x((1, 1))))?;
    assert_eq!(f.call(&[[1f32, 2.], [3., 4.]])?.to_vec()?, [4., 0., 0., 0.]);
    Ok(())
}

#[test]
fn gather_and_scatter() -> R {
    let f = compile(|x: Arr<f32, N>, map: Arr<At<N>, M>| map.map(|i| x.at(i)))?;
    assert_eq!(f.call(&[5f32, 6.], &[At::new(1), At::new(1), At::new(0)])?.to_vec()?, [6., 6., 5.]);
    let e = f.call(&[5f32, 6.], &[At::new(0), At::new(2)]).unwrap_err().to_string();
    assert!(e.contains("argument 2: element 1 is position 2, but axis N has 2"), "{e}");
    let f = compile(|x: Arr<f32, N>, i: Idx<N>| x.at(i))?;
    assert_eq!(f.call(&[5f32, 6.], At::new(1))?.value()?, 6.);
    assert!(f.call(&[5f32, 6.], At::new(2)).is_err());
    // A computed map goes back in.
    let best = compile(|x: Arr<f32, (M, N)>| tabulate(|i: Idx<M>| x.row(i).argmax()))?.call(&[[1f32, 2.], [4., 3.]])?;
    let pick = compile(|x: Arr<f32, N>, map: Arr<At<N>, M>| map.map(|i| x.at(i)))?;
    assert_eq!(pick.call(&[5f32, 6.], &best)?.to_vec()?, [6., 5.]);
    // Two axes to write to, a place outside, and a collision.
    let f = compile(|x: Arr<i32, N>| {
        scatter(Sum, |i: Idx<N>| {
            let v = x.at(i);
            ((Near::<Fix<2>>::new(v / 2), Near::<Fix<2>>::new(v % 2)), v)
        })
    })?;
    assert_eq!(f.call(&[0, 1, 3, 3, 9])?.to_vec()?, [0, 1, 0, 6]);
    Ok(())
}

#[test]
fn sums_of_axes() -> R {
    let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| {
        let both = concat(x, y);
        (
            both,
            tabulate(|i: Idx<N>| both.at(Idx::<Either<N, M>>::left(i))),
            tabulate(|j: Idx<M>| both.at(Idx::<Either<N, M>>::right(j))),
        )
    })?;
    let (both, left, right) = f.call(&[1f32], &[2f32, 3.])?;
    assert_eq!((both.to_vec()?, left.to_vec()?, right.to_vec()?), (vec![1., 2., 3.], vec![1.], vec![2., 3.]));
    let (both, ..) = f.call(&[0f32; 0], &[2f32])?;
    assert_eq!(both.to_vec()?, [2.]);
    // A concatenation as an argument tells one of its parts.
    let f = compile(|x: Arr<f32, Either<Fix<2>, N>>| tabulate(|i: Idx<N>| x.at(Idx::<Either<Fix<2>, N>>::right(i))))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [3.]);
    assert!(f.call(&[1f32]).is_err());
    Ok(())
}

#[test]
fn triangles() -> R {
    let f = compile(|x: Arr<u32, Tri<N>>| x.map_at(|p, v| (p.row().u32(), p.column().u32(), v)))?;
    let cells: Vec<u32> = (0..15).collect();
    let expected: Vec<(u32, u32)> = (0..5).flat_map(|r| (0..=r).map(move |c| (r, c))).collect();
    let found = f.call(&cells)?.to_vec()?;
    assert_eq!(found.iter().map(|&(r, c, _)| (r, c)).collect::<Vec<_>>(), expected);
    assert!(f.call(&cells[..14]).is_err());
    Ok(())
}
