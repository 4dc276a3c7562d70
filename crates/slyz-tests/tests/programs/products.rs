//! Sums of products, in all the shapes that are blocked for the cache: whole numbers, so that results are exact whatever
//! the order of the additions.

use slyz::Error;
use slyz::prelude::*;

axis!(B, N, K, M);

/// Sizes around the edges of groups of rows, of vectors, of tiles and of pieces of a sum.
const SIZES: &[[usize; 3]] = &[
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [5, 7, 3],
    [6, 16, 64],
    [7, 255, 65],
    [64, 257, 63],
    [259, 20, 130],
    [300, 513, 33],
    [20, 40, 530],
];

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed * 13 + i / 11) % 9) as f32 - 4.0).collect()
}

/// `fold` over `k` of `term(row, k, column)`.
fn expected(
    [n, k, m]: [usize; 3],
    term: impl Fn(usize, usize, usize) -> f32,
    fold: (f32, fn(f32, f32) -> f32),
) -> Vec<f32> {
    let cell = |i: usize, j: usize| (0..k).fold(fold.0, |sum, p| fold.1(sum, term(i, p, j)));
    (0..n * m).map(|at| cell(at / m, at % m)).collect()
}

const SUM: (f32, fn(f32, f32) -> f32) = (0.0, |a, b| a + b);

#[test]
fn plain_and_transposed() -> Result<(), Error> {
    let plain = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| sum(|k: Idx<K>| a.at((i, k)) * b.at((k, j))))
    })?;
    let left = compile(|a: Arr<f32, (K, N)>, b: Arr<f32, (K, M)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| sum(|k: Idx<K>| a.at((k, i)) * b.at((k, j))))
    })?;
    let right = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (M, K)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| sum(|k: Idx<K>| a.at((i, k)) * b.at((j, k))))
    })?;
    for &[n, k, m] in SIZES {
        let (a, b) = (values(n * k, 1), values(k * m, 2));
        let found = plain.call((&a, [n, k]), (&b, [k, m]))?.to_vec()?;
        assert_eq!(found, expected([n, k, m], |i, p, j| a[i * k + p] * b[p * m + j], SUM), "{n} {k} {m}");
        let found = left.call((&a, [k, n]), (&b, [k, m]))?.to_vec()?;
        assert_eq!(found, expected([n, k, m], |i, p, j| a[p * n + i] * b[p * m + j], SUM), "left {n} {k} {m}");
        let found = right.call((&a, [n, k]), (&b, [m, k]))?.to_vec()?;
        assert_eq!(found, expected([n, k, m], |i, p, j| a[i * k + p] * b[j * k + p], SUM), "right {n} {k} {m}");
    }
    Ok(())
}

#[test]
fn what_is_multiplied_and_what_becomes_of_it_may_be_anything() -> Result<(), Error> {
    let layer = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>, bias: Arr<f32, M>, scale: Arr<f32, N>| {
        let product = tabulate(|(i, j): (Idx<N>, Idx<M>)| {
            sum(|k: Idx<K>| (a.at((i, k)) * scale.at(i) + 1.0) * (b.at((k, j)) - bias.at(j)))
        });
        (product + bias).map(|v| v.max(0.0))
    })?;
    for &[n, k, m] in SIZES {
        let (a, b, bias, scale) = (values(n * k, 1), values(k * m, 2), values(m, 3), values(n, 4));
        let found = layer.call((&a, [n, k]), (&b, [k, m]), &bias, &scale)?.to_vec()?;
        let term = |i: usize, p: usize, j: usize| (a[i * k + p] * scale[i] + 1.0) * (b[p * m + j] - bias[j]);
        let mut wanted = expected([n, k, m], term, SUM);
        wanted.iter_mut().enumerate().for_each(|(at, v)| *v = (*v + bias[at % m]).max(0.0));
        assert_eq!(found, wanted, "{n} {k} {m}");
    }
    Ok(())
}

#[test]
fn distances_and_shortest_paths() -> Result<(), Error> {
    let distances = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (M, K)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| {
            sum(|k: Idx<K>| {
                let d = a.at((i, k)) - b.at((j, k));
                d * d
            })
        })
    })?;
    let paths = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>| {
        let least = || monoid(f32::INFINITY, |a: Exp<f32>, b: Exp<f32>| a.min(b)).commutative();
        tabulate(|(i, j): (Idx<N>, Idx<M>)| fold(least(), |k: Idx<K>| a.at((i, k)) + b.at((k, j))))
    })?;
    for &[n, k, m] in SIZES {
        let (a, b) = (values(n * k, 1), values(k * m, 2));
        let found = distances.call((&a, [n, k]), (&b, [m, k]))?.to_vec()?;
        let square = |d: f32| d * d;
        assert_eq!(found, expected([n, k, m], |i, p, j| square(a[i * k + p] - b[j * k + p]), SUM), "{n} {k} {m}");
        let found = paths.call((&a, [n, k]), (&b, [k, m]))?.to_vec()?;
        let least = (f32::INFINITY, f32::min as fn(f32, f32) -> f32);
        assert_eq!(found, expected([n, k, m], |i, p, j| a[i * k + p] + b[p * m + j], least), "paths {n} {k} {m}");
    }
    Ok(())
}

#[test]
fn positions_take_part() -> Result<(), Error> {
    // The lower triangle of a product, and a sum that knows where it stands.
    let triangle = compile(|a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| {
            sum(|k: Idx<K>| {
                let product = a.at((i, k)) * b.at((k, j));
                i.i64().lt(j.i64()).select(lit(0.0), product)
            })
        })
    })?;
    for &[n, k, m] in SIZES {
        let (a, b) = (values(n * k, 1), values(k * m, 2));
        let found = triangle.call((&a, [n, k]), (&b, [k, m]))?.to_vec()?;
        let term = |i: usize, p: usize, j: usize| if i < j { 0.0 } else { a[i * k + p] * b[p * m + j] };
        assert_eq!(found, expected([n, k, m], term, SUM), "{n} {k} {m}");
    }
    Ok(())
}

#[test]
fn batches_and_other_types() -> Result<(), Error> {
    let batched = compile(|a: Arr<i32, (B, N, K)>, b: Arr<i32, (B, K, M)>| {
        tabulate(|(p, i, j): (Idx<B>, Idx<N>, Idx<M>)| sum(|k: Idx<K>| a.at((p, i, k)) * b.at((p, k, j))))
    })?;
    let double = compile(|a: Arr<f64, (N, K)>, b: Arr<f64, (K, M)>| {
        tabulate(|(i, j): (Idx<N>, Idx<M>)| sum(|k: Idx<K>| a.at((i, k)) * b.at((k, j))))
    })?;
    for &[n, k, m] in SIZES {
        let (a, b) = (values(3 * n * k, 1), values(3 * k * m, 2));
        let whole = |v: &[f32]| v.iter().map(|&x| x as i32).collect::<Vec<i32>>();
        let found = batched.call((&whole(&a), [3, n, k]), (&whole(&b), [3, k, m]))?.to_vec()?;
        let wanted: Vec<f32> = (0..3)
            .flat_map(|p| {
                let (a, b) = (&a[p * n * k..], &b[p * k * m..]);
                expected([n, k, m], |i, q, j| a[i * k + q] * b[q * m + j], SUM)
            })
            .collect();
        assert_eq!(found, whole(&wanted), "batched {n} {k} {m}");
        let wide = |v: &[f32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let found = double.call((&wide(&a[..n * k]), [n, k]), (&wide(&b[..k * m]), [k, m]))?.to_vec()?;
        assert_eq!(found, wide(&wanted[..n * m]), "double {n} {k} {m}");
    }
    Ok(())
}

fn product<A: Axis, B: Axis, C: Axis>(a: Arr<f32, (A, B)>, b: Arr<f32, (B, C)>) -> Arr<f32, (A, C)> {
    tabulate(|(i, j): (Idx<A>, Idx<C>)| sum(|k: Idx<B>| a.at((i, k)) * b.at((k, j))))
}

/// Eighteen products are two pieces of code, of which one has seventeen callers, the last for other axes than the rest. The C
/// compiler gets the two as files of their own.
#[test]
fn equal_products_share_their_code() -> Result<(), Error> {
    let device = slyz::device("cpu")?;
    let f =
        compile_on(&device, |x: Arr<f32, (N, K)>, a: Arr<f32, (K, K)>, b: Arr<f32, (K, M)>, c: Arr<f32, (M, M)>| {
            let powers = (0..16).fold(x, |x, _| product(x, a));
            product(product(powers, b), c)
        })?;
    assert_eq!(f.explain().details().launches().count(), 18);
    if f.device() == "cpu" {
        assert_eq!(f.source().matches("for (i64 block = begin;").count(), 2);
        assert_eq!(f.explain().build_time().map(|built| built.files), Some(2));
        assert!(f.explain().to_string().contains("built in "));
    }
    let (n, k, m) = (5, 7, 3);
    // One number in each row, so that products of many stay small.
    let shift = |n: usize| -> Vec<f32> { (0..n * n).map(|at| ((at / n + 1) % n == at % n) as u8 as f32).collect() };
    let (x, a, b, c) = (values(n * k, 1), shift(k), values(k * m, 2), shift(m));
    let found = f.call((&x, [n, k]), (&a, [k, k]), (&b, [k, m]), (&c, [m, m]))?;
    let times =
        |x: &[f32], a: &[f32], [n, k, m]: [usize; 3]| expected([n, k, m], |i, p, j| x[i * k + p] * a[p * m + j], SUM);
    let powers = (0..16).fold(x, |x, _| times(&x, &a, [n, k, k]));
    assert_eq!(found.to_vec()?, times(&times(&powers, &b, [n, k, m]), &c, [n, m, m]));
    Ok(())
}
