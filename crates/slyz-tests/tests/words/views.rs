//! Parts and repetitions along an axis, lookups and diagonals, against plain Rust, with axes of all lengths.

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(A, N, M, C);

/// A box of numbers on the host: how many lines, how long they are, and how many numbers stand in each place.
struct Block {
    outer: usize,
    len: usize,
    inner: usize,
}

impl Block {
    fn data(&self) -> Vec<i32> {
        (0..self.outer * self.len * self.inner).map(|k| k as i32 * 7 % 101).collect()
    }

    fn dims(&self) -> [usize; 3] {
        [self.outer, self.len, self.inner]
    }

    /// Another box, whose places along the middle are `from` of this one's, or -1 where there is none.
    fn view(&self, len: usize, from: impl Fn(i128) -> i128) -> Vec<i32> {
        let data = self.data();
        let mut out = vec![];
        for a in 0..self.outer {
            for place in 0..len {
                for c in 0..self.inner {
                    let old = from(place as i128);
                    let inside = (0..self.len as i128).contains(&old);
                    let at = |old: usize| data[(a * self.len + old) * self.inner + c];
                    out.push(if inside { at(old as usize) } else { -1 });
                }
            }
        }
        out
    }
}

/// Along the middle of three axes, and along the innermost.
#[test]
fn parts_along_an_axis() -> R {
    type Cube = Arr<i32, (A, N, C)>;
    type Places = (Arr<i32, (A, Padded<Fix<2>, N, Fix<1>>, C)>, Arr<i32, (A, Stride<N, 3>, C)>);
    type Copies = (Arr<i32, (A, Flat<N, Fix<3>>, C)>, Arr<i32, (A, Flat<Fix<3>, N>, C)>);
    fn places(x: Cube) -> Places {
        (x.over(N).pad::<Fix<2>, Fix<1>>(-1), x.over(N).step_by::<3>())
    }
    fn copies(x: Cube) -> Copies {
        (x.over(N).repeat::<Fix<3>>(), x.over(N).tile::<Fix<3>>())
    }
    fn rolls(x: Cube, k: Exp<i64>) -> [Cube; 3] {
        [x.over(N).roll(2), x.over(N).roll(i64::MIN), x.over(N).roll(k)]
    }
    for device in crate::devices() {
        let places = compile_on(&device, places)?;
        let copies = compile_on(&device, copies)?;
        let rolls = compile_on(&device, rolls)?;
        let inner = compile_on(&device, |x: Arr<i32, (A, N)>, k: Exp<i64>| {
            (x.over(N).roll(-3), x.over(N).roll(k), x.over(N).pad::<Fix<1>, Fix<0>>(-1))
        })?;
        for len in [0usize, 1, 2, 3, 7, 33] {
            let n = len as i128;
            let around = |place: i128, by: i128| if n == 0 { -1 } else { (place - by).rem_euclid(n) };
            for (outer, inner_len) in [(0usize, 2usize), (1, 1), (3, 2)] {
                let block = Block { outer, len, inner: inner_len };
                let x = block.data();
                let (padded, stepped) = places.call((&x, block.dims()))?;
                assert_eq!(padded.to_vec()?, block.view(len + 3, |p| p - 2), "{len}");
                assert_eq!(stepped.to_vec()?, block.view(len.div_ceil(3), |p| p * 3), "{len}");
                let (repeated, tiled) = copies.call((&x, block.dims()))?;
                assert_eq!(repeated.to_vec()?, block.view(len * 3, |p| p / 3), "{len}");
                assert_eq!(tiled.to_vec()?, block.view(len * 3, |p| p % n.max(1)), "{len}");
                for k in [0i64, 1, -1, 5, -40, i64::MAX, i64::MIN] {
                    let [two, far, computed] = rolls.call((&x, block.dims()), k)?;
                    assert_eq!(two.to_vec()?, block.view(len, |p| around(p, 2)), "{len}");
                    assert_eq!(far.to_vec()?, block.view(len, |p| around(p, i64::MIN as i128)), "{len}");
                    assert_eq!(computed.to_vec()?, block.view(len, |p| around(p, k as i128)), "{len} by {k}");
                }
            }
            let block = Block { outer: 2, len, inner: 1 };
            let (back, computed, padded) = inner.call((&block.data(), [2, len]), 4)?;
            assert_eq!(back.to_vec()?, block.view(len, |p| around(p, -3)));
            assert_eq!(computed.to_vec()?, block.view(len, |p| around(p, 4)));
            assert_eq!(padded.to_vec()?, block.view(len + 1, |p| p - 1));
        }
    }
    Ok(())
}

/// Windows start where all their elements are there; slices are refused where they are not.
#[test]
fn windows_and_strides() -> R {
    for device in crate::devices() {
        let window = compile_on(&device, |x: Arr<i32, (A, N, C)>, k: Exp<i64>| x.over(N).window::<Fix<3>>(k))?;
        let strided = compile_on(&device, |x: Arr<i32, (A, N, C)>| x.over(N).slice_by::<M>(1, 2))?;
        for len in [3usize, 4, 9] {
            let block = Block { outer: 2, len, inner: 2 };
            for k in [0i64, 1, 3, 6, 7, i64::MAX, -1, i64::MIN] {
                let start = k.clamp(0, len as i64 - 3) as i128;
                assert_eq!(window.call((&block.data(), block.dims()), k)?.to_vec()?, block.view(3, |p| p + start));
            }
            for count in 0..6usize {
                let strided = strided.clone().size::<M>(count);
                let result = strided.call((&block.data(), block.dims()));
                match count == 0 || 1 + 2 * (count - 1) < len {
                    true => assert_eq!(result?.to_vec()?, block.view(count, |p| 1 + 2 * p)),
                    false => assert!(result.is_err(), "{count} of {len}"),
                }
            }
        }
        let e = window.call((&[1, 2], [1, 2, 1]), 0).unwrap_err().to_string();
        assert!(e.contains("needs 3 elements, but there are N = 2"), "{e}");
        let whole = compile_on(&device, |x: Arr<i32, N>| x.window::<N>(5))?;
        assert_eq!(whole.call(&[] as &[i32])?.len(), 0);
        assert_eq!(whole.call(&[1, 2])?.to_vec()?, [1, 2]);
    }
    let e = compile(|x: Arr<i32, N>| x.slice_by::<Fix<2>>(0, 0)).unwrap_err().to_string();
    assert!(e.contains("a step of 0") && e.contains("views.rs"), "{e}");
    Ok(())
}

/// What is put together comes apart again.
#[test]
fn one_after_another() -> R {
    type Parts = (Arr<i32, (A, Either<N, M>, C)>, Arr<i32, (A, N, C)>, Arr<i32, (A, M, C)>);
    fn joined(x: Arr<i32, (A, N, C)>, y: Arr<i32, (A, M, C)>) -> Parts {
        let both = x.over(N).concat(y);
        let (first, second) = both.axis::<1>().split();
        (both, first, second)
    }
    for device in crate::devices() {
        let f = compile_on(&device, joined)?;
        let rows = compile_on(&device, |x: Arr<i32, (N, C)>, y: Arr<i32, (M, C)>| x.over(N).concat(y))?;
        for (n, m) in [(0usize, 0usize), (0, 2), (1, 0), (1, 1), (3, 5)] {
            let first = Block { outer: 2, len: n, inner: 3 };
            let second = Block { outer: 2, len: m, inner: 3 };
            let (both, x, y) = f.call((&first.data(), first.dims()), (&second.data(), second.dims()))?;
            assert_eq!((x.to_vec()?, y.to_vec()?), (first.data(), second.data()));
            let lines = |data: Vec<i32>, len: usize| [data[..len * 3].to_vec(), data[len * 3..].to_vec()];
            let expected =
                lines(first.data(), n).into_iter().zip(lines(second.data(), m)).map(|(x, y)| [x, y].concat());
            assert_eq!(both.to_vec()?, expected.collect::<Vec<_>>().concat());
            let x: Vec<i32> = (0..n as i32 * 3).collect();
            let y: Vec<i32> = (0..m as i32 * 3).collect();
            assert_eq!(rows.call((&x, [n, 3]), (&y, [m, 3]))?.to_vec()?, [x, y].concat());
        }
    }
    Ok(())
}

/// Elements by number, with every rule for what is outside, in one and in two dimensions.
#[test]
fn lookups() -> R {
    for device in crate::devices() {
        let one = compile_on(&device, |x: Arr<i32, N>, k: Exp<i64>| (x.get(k).or(-1), x.get(k).inside()))?;
        let near = compile_on(&device, |x: Arr<i32, N>, k: Exp<i64>| (x.get(k).clamp(), x.get(k).wrap()))?;
        let two = compile_on(&device, |x: Arr<i32, (N, M)>, i: Exp<i32>, j: Exp<u64>| {
            (x.get((i, j)).or(-1), x.get((i, j)).inside(), x.at_or((i, 0), -2))
        })?;
        let mixed = compile_on(&device, |x: Arr<i32, (N, M)>, k: Exp<i32>| {
            tabulate(|i: Idx<N>| (x.get((i, k)).or(-1), x.get((i + 1, k)).or(-1), x.get((i, 0)).or(-1)))
        })?;
        for n in [0i64, 1, 2, 5] {
            let x: Vec<i32> = (10..10 + n as i32).collect();
            for k in [0, 1, 4, 5, -1, -7, i64::MAX, i64::MIN] {
                let inside = (0..n).contains(&k);
                let (or, tested) = one.call(&x, k)?;
                assert_eq!((or.value()?, tested.value()?), (if inside { x[k as usize] } else { -1 }, inside));
                match (near.call(&x, k), n) {
                    (result, 0) => assert!(result.is_err()),
                    (result, _) => {
                        let (clamped, wrapped) = result?;
                        assert_eq!(clamped.value()?, x[k.clamp(0, n - 1) as usize]);
                        assert_eq!(wrapped.value()?, x[k.rem_euclid(n) as usize], "{k} of {n}");
                    }
                }
            }
            for m in [0i64, 1, 3] {
                let x: Vec<i32> = (0..(n * m) as i32).collect();
                let at = |i: i64, j: i64, default: i32| {
                    let inside = (0..n).contains(&i) && (0..m).contains(&j);
                    if inside { x[(i * m + j) as usize] } else { default }
                };
                let dims = [n as usize, m as usize];
                for (i, j) in [(0, 0), (-1, 0), (1, 2), (4, 1), (0, 3), (1, i64::MAX)] {
                    let (or, inside, first) = two.call((&x, dims), i as i32, j as u64)?;
                    assert_eq!((or.value()?, first.value()?), (at(i, j, -1), at(i, 0, -2)));
                    assert_eq!(inside.value()?, (0..n).contains(&i) && (0..m).contains(&j));
                }
                let rows = mixed.call((&x, dims), 2)?.to_vec()?;
                let expected = (0..n).map(|i| (at(i, 2, -1), at(i + 1, 2, -1), at(i, 0, -1)));
                assert_eq!(rows, expected.collect::<Vec<_>>());
            }
        }
        let past = compile_on(&device, |x: Arr<i32, N>, k: Exp<u64>| x.get(k).clamp())?;
        assert_eq!(past.call(&[1, 2], u64::MAX)?.value()?, 2);
    }
    Ok(())
}

#[test]
fn diagonals_and_triangles() -> R {
    for device in crate::devices() {
        let diagonal = compile_on(&device, |x: Arr<i32, (N, N)>| x.diagonal())?;
        let triangles = compile_on(&device, |x: Arr<i32, (N, M)>| {
            [x.triu(0), x.triu(2), x.triu(-1), x.tril(0), x.tril(1), x.tril(-2)]
        })?;
        for n in [0i64, 1, 2, 5] {
            let square: Vec<i32> = (1..=(n * n) as i32).collect();
            let expected: Vec<i32> = (0..n).map(|i| square[(i * n + i) as usize]).collect();
            assert_eq!(diagonal.call((&square, [n as usize; 2]))?.to_vec()?, expected);
            for m in [0i64, 1, 4] {
                let x: Vec<i32> = (1..=(n * m) as i32).collect();
                let kept = |keep: &dyn Fn(i64) -> bool| {
                    let value = |k: i64| if keep(k % m - k / m) { x[k as usize] } else { 0 };
                    (0..n * m).map(value).collect::<Vec<i32>>()
                };
                let found = triangles.call((&x, [n as usize, m as usize]))?;
                let expected = [
                    kept(&|d| d >= 0),
                    kept(&|d| d >= 2),
                    kept(&|d| d >= -1),
                    kept(&|d| d <= 0),
                    kept(&|d| d <= 1),
                    kept(&|d| d <= -2),
                ];
                for (found, expected) in found.iter().zip(expected) {
                    assert_eq!(found.to_vec()?, expected, "{n} × {m}");
                }
            }
        }
    }
    Ok(())
}
