//! Products, running sums, moments and best positions against plain Rust, with axes of all lengths.
#![allow(clippy::type_complexity)] // the types of whole functions are what is shown here

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(A, B, N, M, K, Steps);

/// Small whole numbers, whose sums and products are exact in any order.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|k| ((k * 7 + 3) % 11) as f32 - 5.0).collect()
}

/// The product of an `n × k` and a `k × m` matrix.
fn product(x: &[f32], y: &[f32], n: usize, k: usize, m: usize) -> Vec<f32> {
    let cell = |i: usize, j: usize| (0..k).map(|l| x[i * k + l] * y[l * m + j]).sum::<f32>();
    (0..n * m).map(|at| cell(at / m, at % m)).collect()
}

#[test]
fn products() -> R {
    type Matrix = Arr<f32, (N, K)>;
    fn flat(a: Matrix, b: Arr<f32, (K, M)>, x: Arr<f32, K>) -> (Arr<f32, (N, M)>, Arr<f32, N>, Arr<f32, M>, Exp<f32>) {
        (matmul(a, b), a.matmul(x), x.matmul(b), dot(x, x) + a.dot(a))
    }
    type Stacks = (Arr<f32, (A, N, M)>, Arr<f32, (A, N, M)>, Arr<f32, (A, B, N, M)>, Arr<f32, (A, B, N, M)>);
    fn stacks(
        a: Arr<f32, (A, N, K)>,
        b: Arr<f32, (A, K, M)>,
        c: Arr<f32, (A, B, N, K)>,
        d: Arr<f32, (A, B, K, M)>,
    ) -> Stacks {
        let one: Arr<f32, (K, M)> = tabulate(|(i, j): Pos<(K, M)>| (i.i64() + j.i64() * 2).cast::<f32>());
        (a.matmul(b), a.matmul(one), c.matmul(d), c.matmul(one))
    }
    for device in crate::devices() {
        let f = compile_on(&device, flat)?;
        let g = compile_on(&device, stacks)?;
        let outer = compile_on(&device, |x: Arr<i32, N>, y: Arr<i32, M>| outer(x, y))?;
        for (n, k, m) in [(1usize, 1usize, 1usize), (0, 2, 3), (2, 0, 3), (2, 3, 0), (3, 5, 4), (17, 9, 33)] {
            let x = numbers(n * k);
            let y = numbers(k * m);
            let v = numbers(k);
            let (matrix, column, row, inner) = f.call((&x, [n, k]), (&y, [k, m]), &v)?;
            assert_eq!(matrix.to_vec()?, product(&x, &y, n, k, m));
            assert_eq!(column.to_vec()?, product(&x, &v, n, k, 1));
            assert_eq!(row.to_vec()?, product(&v, &y, 1, k, m));
            assert_eq!(inner.value()?, v.iter().chain(&x).map(|x| x * x).sum::<f32>());

            let many = |count: usize, size: usize| numbers(count * size);
            let (a, b, c, d) = (many(2, n * k), many(2, k * m), many(6, n * k), many(6, k * m));
            let found = g.call((&a, [2, n, k]), (&b, [2, k, m]), (&c, [2, 3, n, k]), (&d, [2, 3, k, m]))?;
            let one: Vec<f32> = (0..k * m).map(|at| (at / m + at % m * 2) as f32).collect();
            let each = |count: usize, x: &[f32], y: &dyn Fn(usize) -> Vec<f32>| {
                let layer = |l: usize| product(&x[l * n * k..(l + 1) * n * k], &y(l), n, k, m);
                (0..count).flat_map(layer).collect::<Vec<f32>>()
            };
            assert_eq!(found.0.to_vec()?, each(2, &a, &|l| b[l * k * m..(l + 1) * k * m].to_vec()));
            assert_eq!(found.1.to_vec()?, each(2, &a, &|_| one.clone()));
            assert_eq!(found.2.to_vec()?, each(6, &c, &|l| d[l * k * m..(l + 1) * k * m].to_vec()));
            assert_eq!(found.3.to_vec()?, each(6, &c, &|_| one.clone()));

            let x: Vec<i32> = (0..n as i32).collect();
            let y: Vec<i32> = (5..5 + m as i32).collect();
            let expected: Vec<i32> = x.iter().flat_map(|a| y.iter().map(move |b| a * b)).collect();
            assert_eq!(outer.call(&x, &y)?.to_vec()?, expected);
        }
    }
    Ok(())
}

#[test]
fn running_sums_and_differences() -> R {
    for device in crate::devices() {
        let f = compile_on(&device, |x: Arr<i64, (N, M)>| {
            (x.over(M).cumsum(), x.over(N).cumsum(), x.over(M).cumprod(), x.len())
        })?;
        let down = compile_on(&device, |x: Arr<i64, (N, M)>| x.over(N).diff::<Steps>())?;
        let line = compile_on(&device, |x: Arr<i64, N>| (x.diff::<Steps>(), x.cumsum(), x.cumprod()))?;
        for (n, m) in [(0usize, 3usize), (1, 1), (3, 0), (4, 5)] {
            let x: Vec<i64> = numbers(n * m).iter().map(|&x| x as i64).collect();
            let at = |i: usize, j: usize| x[i * m + j];
            let cells = |f: &dyn Fn(usize, usize) -> i64| (0..n * m).map(|k| f(k / m, k % m)).collect::<Vec<i64>>();
            let (rows, columns, products, len) = f.call((&x, [n, m]))?;
            assert_eq!(rows.to_vec()?, cells(&|i, j| (0..=j).map(|l| at(i, l)).sum()));
            assert_eq!(columns.to_vec()?, cells(&|i, j| (0..=i).map(|l| at(l, j)).sum()));
            assert_eq!(products.to_vec()?, cells(&|i, j| (0..=j).map(|l| at(i, l)).product()));
            assert_eq!(len.value()?, (n * m) as i64);
            match (down.call((&x, [n, m])), n) {
                (result, 0) => assert!(result.is_err(), "nothing has no differences"),
                (result, _) => {
                    let expected: Vec<i64> =
                        (0..(n - 1) * m).map(|k| at(k / m + 1, k % m) - at(k / m, k % m)).collect();
                    let found = result?;
                    assert_eq!(
                        (found.dims(), found.to_vec()?),
                        (&[n as u64 - 1, m as u64].map(|d| d as usize)[..], expected)
                    );
                }
            }
        }
        let (steps, sums, products) = line.call(&[3i64, 5, 4])?;
        assert_eq!(
            (steps.to_vec()?, sums.to_vec()?, products.to_vec()?),
            (vec![2, -1], vec![3, 8, 12], vec![3, 15, 60])
        );
        assert_eq!(line.call(&[3i64])?.0.len(), 0);
    }
    Ok(())
}

/// An axis that no argument tells gets its extent from others that it must agree with.
#[test]
fn extents_that_follow() -> R {
    let f = compile(|x: Arr<f32, N>| x.reshape::<(M, Fix<2>)>().transpose())?;
    assert_eq!(f.call(&[1f32, 2., 3., 4., 5., 6.])?.to_vec()?, [1., 3., 5., 2., 4., 6.]);
    assert!(f.call(&[1f32, 2., 3.]).is_err());
    let twice = compile(|x: Arr<f32, N>| x.diff::<Steps>().diff::<M>())?;
    assert_eq!(twice.call(&[1f32, 4., 9., 16.])?.to_vec()?, [2., 2.]);
    // What is given is believed, and held against the rest.
    assert!(twice.clone().size::<M>(3).call(&[1f32, 4., 9., 16.]).is_err());
    Ok(())
}

#[test]
fn moments() -> R {
    fn close(found: f64, expected: f64) -> bool {
        found == expected
            || (found - expected).abs() <= 1e-6 * expected.abs().max(1.0)
            || found.is_nan() && expected.is_nan()
    }
    fn of(x: &[f64], less: f64) -> [f64; 4] {
        let count = x.len() as f64;
        let mean = x.iter().sum::<f64>() / count;
        let squares = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let variance = squares / (count - less).max(0.0);
        [mean, variance, variance.sqrt(), x.iter().map(|x| x * x).sum::<f64>().sqrt()]
    }
    for device in crate::devices() {
        let whole = compile_on(&device, |x: Arr<f32, (N, M)>| {
            [x.mean(), x.var(), x.std(), x.norm(), x.sample_var(), x.sample_std()]
        })?;
        let lines = compile_on(&device, |x: Arr<f32, (N, M)>| {
            let x = x.over(N);
            [x.mean(), x.var(), x.std(), x.norm(), x.sample_var(), x.sample_std()]
        })?;
        for (n, m) in [(0usize, 2usize), (1, 1), (1, 3), (5, 2), (40, 3)] {
            let x: Vec<f32> = numbers(n * m).iter().map(|x| x + 1000.0).collect();
            let wide = |x: Vec<f32>| x.into_iter().map(f64::from).collect::<Vec<f64>>();
            let all = |x: &[f64]| {
                let [mean, variance, deviation, norm] = of(x, 0.0);
                let [_, sample, sample_deviation, _] = of(x, 1.0);
                [mean, variance, deviation, norm, sample, sample_deviation]
            };
            let expected = all(&wide(x.clone()));
            for (k, (found, expected)) in whole.call((&x, [n, m]))?.iter().zip(expected).enumerate() {
                let found = f64::from(found.value()?);
                assert!(close(found, expected), "moment {k} of {n} × {m}: {found}, not {expected}");
            }
            let found = lines.call((&x, [n, m]))?;
            for j in 0..m {
                let column: Vec<f32> = (0..n).map(|i| x[i * m + j]).collect();
                for (k, (found, expected)) in found.iter().zip(all(&wide(column))).enumerate() {
                    let found = f64::from(found.to_vec()?[j]);
                    assert!(close(found, expected), "moment {k} of column {j} of {n} × {m}: {found}, not {expected}");
                }
            }
        }
        // Sums of halves are sums of floats: 4096 × 16 is past the largest half.
        let halves = compile_on(&device, |x: Arr<f16, N>| (x.std(), x.norm(), x.mean()))?;
        let (std, norm, mean) = halves.call(&vec![f16::from_f32(16.0); 4096])?;
        assert_eq!((std.value()?.to_f32(), norm.value()?.to_f32(), mean.value()?.to_f32()), (0.0, 1024.0, 16.0));
    }
    Ok(())
}

#[test]
fn tests_and_best_positions() -> R {
    type Cube = Arr<i32, (N, M, K)>;
    fn best(x: Cube) -> (Pos<(N, M, K)>, Pos<(N, M, K)>, Pos<(N, M, K)>) {
        (x.argmax(), x.argmin(), argmax(|p: Pos<(N, M, K)>| -x.at(p)))
    }
    for device in crate::devices() {
        let f = compile_on(&device, best)?;
        let along = compile_on(&device, |x: Cube| (x.over(N).argmax(), x.over(M).argmin(), x.over(K).argmax()))?;
        let tests = compile_on(&device, |x: Cube| {
            let odd = (x & 1).eq(1);
            (odd.any(), odd.all(), odd.count(), odd.over(M).any(), odd.over(M).all(), odd.over(M).count())
        })?;
        for (n, m, k) in [(1usize, 1usize, 1usize), (2, 3, 4), (5, 1, 7)] {
            let x: Vec<i32> = numbers(n * m * k).iter().map(|&x| x as i32).collect();
            let dims = [n, m, k];
            let first = |wanted: i32| x.iter().position(|&x| x == wanted).map(|at| [at / k / m, at / k % m, at % k]);
            let number = |p: [u64; 3]| Some(p.map(|p| p as usize));
            let (most, least, also_least) = f.call((&x, dims))?;
            let place = |p: (_, _, _)| -> R<[u64; 3]> {
                let (i, j, l): (Tensor<At<N>, ()>, Tensor<At<M>, ()>, Tensor<At<K>, ()>) = p;
                Ok([i.value()?.get(), j.value()?.get(), l.value()?.get()])
            };
            assert_eq!(number(place(most)?), first(*x.iter().max().unwrap_or(&0)));
            assert_eq!(number(place(least)?), first(*x.iter().min().unwrap_or(&0)));
            assert_eq!(number(place(also_least)?), first(*x.iter().min().unwrap_or(&0)));
            let at = |i: usize, j: usize, l: usize| x[(i * m + j) * k + l];
            let (a, b, c) = along.call((&x, dims))?;
            let first_of = |line: Vec<i32>| {
                line.iter().enumerate().fold(0, |best, (at, x)| if *x > line[best] { at } else { best })
            };
            let expected: Vec<u64> =
                (0..m * k).map(|p| first_of((0..n).map(|i| at(i, p / k, p % k)).collect()) as u64).collect();
            assert_eq!(a.to_vec()?.iter().map(|p| p.get()).collect::<Vec<_>>(), expected);
            let expected: Vec<u64> =
                (0..n * k).map(|p| first_of((0..m).map(|j| -at(p / k, j, p % k)).collect()) as u64).collect();
            assert_eq!(b.to_vec()?.iter().map(|p| p.get()).collect::<Vec<_>>(), expected);
            let expected: Vec<u64> =
                (0..n * m).map(|p| first_of((0..k).map(|l| at(p / m, p % m, l)).collect()) as u64).collect();
            assert_eq!(c.to_vec()?.iter().map(|p| p.get()).collect::<Vec<_>>(), expected);
            let odd = |x: &i32| x & 1 == 1;
            let (any, all, count, some, every, counts) = tests.call((&x, dims))?;
            assert_eq!((any.value()?, all.value()?), (x.iter().any(odd), x.iter().all(odd)));
            assert_eq!(count.value()?, x.iter().filter(|x| odd(x)).count() as u64);
            let line = |p: usize| (0..m).map(move |j| odd(&at(p / k, j, p % k)));
            assert_eq!(some.to_vec()?, (0..n * k).map(|p| line(p).any(|x| x)).collect::<Vec<_>>());
            assert_eq!(every.to_vec()?, (0..n * k).map(|p| line(p).all(|x| x)).collect::<Vec<_>>());
            assert_eq!(counts.to_vec()?, (0..n * k).map(|p| line(p).filter(|x| *x).count() as u64).collect::<Vec<_>>());
        }
        assert!(f.call((&[], [2, 0, 3])).is_err(), "an empty axis has no best position");
        // A NaN wins only against NaNs.
        let nans = compile_on(&device, |x: Arr<f32, (N, M)>| x.argmax())?;
        let (i, j) = nans.call(&[[f32::NAN, 1.0], [2.0, f32::NAN]])?;
        assert_eq!((i.value()?.get(), j.value()?.get()), (1, 0));
    }
    Ok(())
}
