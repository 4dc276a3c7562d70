//! Loops that carry arrays, and updates, against plain Rust: with short turns, which are one kernel, and with long ones, which are launches.

use crate::devices;
use slyz::Error;
use slyz::prelude::*;

axis!(N, M, T);

/// Lengths on both sides of where a loop becomes launches, and none.
const LENGTHS: [usize; 5] = [0, 1, 5, 1000, 20_000];

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1013) as f32).collect()
}

fn smooth_once(x: &[f32]) -> Vec<f32> {
    let n = x.len();
    (0..n).map(|i| 0.5 * (x[i.saturating_sub(1)] + x[(i + 1).min(n - 1)])).collect()
}

#[test]
fn turns_that_read_neighbours() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<f32, N>, turns: Exp<u32>| {
            iterate(turns, x, |_, x: Arr<f32, N>| x.stencil(Border::Clamp, |x| 0.5 * (x(-1) + x(1))))
        })?;
        for n in LENGTHS {
            for turns in [0, 1, 4] {
                let x = ramp(n);
                let expected = (0..turns).fold(x.clone(), |x, _| smooth_once(&x));
                assert_eq!(f.call(&x, turns)?.to_vec()?, expected, "{n} elements, {turns} turns");
            }
        }
    }
    Ok(())
}

/// Arrays that change places, a scalar, and a condition on an array.
#[test]
fn while_a_sum_is_small() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, N>, y: Arr<i32, N>| {
            repeat_while(
                (x, y, 0u32),
                |(x, _, turns)| x.sum().lt(1_000_000) & turns.lt(7),
                |(x, y, turns): (Arr<i32, N>, Arr<i32, N>, Exp<u32>)| (y, x * 3, turns + 1),
            )
        })?;
        for n in LENGTHS {
            let mut x: Vec<i32> = (0..n as i32).map(|i| i % 17).collect();
            let mut y = vec![1; n];
            let (a, b, turns) = f.call(&x, &y)?;
            let mut count = 0;
            while x.iter().sum::<i32>() < 1_000_000 && count < 7 {
                x.iter_mut().for_each(|x| *x *= 3);
                std::mem::swap(&mut x, &mut y);
                count += 1;
            }
            assert_eq!((a.to_vec()?, b.to_vec()?, turns.value()?), (x, y, count), "{n} elements");
        }
    }
    Ok(())
}

type Square = Arr<f64, (N, N)>;

fn lu(a: Square) -> Square {
    for_each(a, |k: Idx<N>, a: Square| {
        let column: Arr<f64, N> = tabulate(|i: Idx<N>| i.gt(k).select(a.at((i, k)) / a.at((k, k)), a.at((i, k))));
        let a = a.scatter_last(|i: Idx<N>| ((i, k), column.at(i)));
        tabulate(|(i, j): Pos<(N, N)>| {
            (i.gt(k) & j.gt(k)).select(a.at((i, j)) - column.at(i) * a.at((k, j)), a.at((i, j)))
        })
    })
}

/// The same with one update a turn, whose first column is another than the rest.
fn lu_at_once(a: Square) -> Square {
    for_each(a, |k: Idx<N>, a: Square| {
        let column: Arr<f64, N> = tabulate(|i: Idx<N>| i.gt(k).select(a.at((i, k)) / a.at((k, k)), 0.0));
        tabulate(|(i, j): Pos<(N, N)>| {
            let new = j.eq(k).select(column.at(i), a.at((i, j)) - column.at(i) * a.at((k, j)));
            (i.gt(k) & j.ge(k)).select(new, a.at((i, j)))
        })
    })
}

#[test]
fn elimination_in_place() -> Result<(), Error> {
    let programs: [fn(Square) -> Square; 2] = [lu, lu_at_once];
    for (device, program) in devices().into_iter().flat_map(|device| programs.map(|program| (device.clone(), program)))
    {
        let f = compile_on(&device, program)?;
        for n in [0, 1, 6, 130] {
            let mut a: Vec<f64> =
                (0..n * n).map(|k| ((k * 31) % 17) as f64 + if k % (n + 1) == 0 { 64.0 } else { 0.0 }).collect();
            let found = f.call((&a, [n, n]))?.to_vec()?;
            for k in 0..n {
                for i in k + 1..n {
                    a[i * n + k] /= a[k * n + k];
                    for j in k + 1..n {
                        a[i * n + j] -= a[i * n + k] * a[k * n + j];
                    }
                }
            }
            let near = found.iter().zip(&a).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()));
            assert!(near && found.len() == a.len(), "{n}");
        }
        let text = f.explain().to_string();
        assert!(text.contains("in place f64[N, N]"), "{text}");
    }
    Ok(())
}

#[slyz::function]
fn swapped(x: Arr<i32, N>, i: Idx<N>, j: Idx<N>) -> Arr<i32, N> {
    let mut y = x;
    y[i] = x.at(j);
    y[j] = x.at(i);
    y
}

#[test]
fn updates_are_pure() -> Result<(), Error> {
    for device in devices() {
        // The old arrays are read after the update, and by it.
        let f = compile_on(&device, |x: Arr<i32, N>, k: Exp<i64>| {
            let y = x.with(Near::new(k), 100);
            let z = y.scatter_last(|i: Idx<N>| (i + 1, y.at(i)));
            (
                y,
                z,
                y.scatter_add(|i: Idx<N>| (Near::new(i.i64() / 2), x.at(i))),
                swapped(x, Near::new(0).clamp(), Near::new(k).clamp()),
            )
        })?;
        let x = [1, 2, 3, 4];
        let (y, z, sums, swapped) = f.call(&x, 2)?;
        assert_eq!(y.to_vec()?, [1, 2, 100, 4]);
        assert_eq!(z.to_vec()?, [1, 1, 2, 100]);
        assert_eq!(sums.to_vec()?, [4, 9, 100, 4]);
        assert_eq!(swapped.to_vec()?, [3, 2, 1, 4]);
        assert_eq!(f.call(&x, -1)?.0.to_vec()?, x);
        assert_eq!(f.call(&x, 4)?.0.to_vec()?, x);
    }
    Ok(())
}

/// What reads the old array behind an update is read before it, so that nothing is copied.
#[test]
fn swaps_in_place() -> Result<(), Error> {
    type Square = Arr<i32, (N, N)>;
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, N>, a: Square, k: Idx<N>| {
            let x = for_each(x, |i: Idx<N>, x: Arr<i32, N>| swapped(x, i, k));
            let a = for_each(a, |i: Idx<N>, a: Square| a.with_row(i, a.row(k)).with_row(k, a.row(i)));
            (x, a)
        })?;
        let (x, a) = f.call(&[1, 2, 3, 4], &[[1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9], [0, 0, 0, 0]], At::new(1))?;
        assert_eq!(x.to_vec()?, [2, 4, 1, 3]);
        assert_eq!(a.to_vec()?, [5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4, 9, 9, 9, 9]);
        let text = f.explain().to_string();
        assert!(!text.contains("copied"), "{text}");
    }
    Ok(())
}

#[derive(Clone, Copy, Elem)]
struct Body<T> {
    place: T,
    speed: T,
}

/// States that are structs, positions, tuples and arrays of arrays; loops in loops and in bodies; outputs that are stacked.
#[test]
fn states_of_all_kinds() -> Result<(), Error> {
    type Line = Arr<f32, N>;
    for device in devices() {
        let f = compile_on(&device, |x: Line| {
            let start = Body { place: x, speed: fill::<f32, N>(0.0) };
            let end = iterate(3, start, |turn, body: Body<Line>| {
                let speed = body.speed + turn.cast::<f32>();
                Body { place: body.place + speed, speed }
            });
            (end.place, end.speed)
        })?;
        let (place, speed) = f.call(&[0.0f32, 10.0])?;
        assert_eq!((place.to_vec()?, speed.to_vec()?), (vec![4.0, 14.0], vec![3.0, 3.0]));

        let f = compile_on(&device, |x: Arr<f32, (N, M)>| {
            let (last, all) =
                scan_over([fill::<f32, M>(0.0), fill::<f32, M>(1.0)], |[a, b]: [Arr<f32, M>; 2], i: Idx<N>| {
                    let row = x.row(i) + a * b;
                    ([row, b], (row, row.sum()))
                });
            (last[0], all.0, all.1)
        })?;
        let (last, rows, sums) = f.call(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
        assert_eq!(last.to_vec()?, [9.0, 12.0]);
        assert_eq!(rows.to_vec()?, [1.0, 2.0, 4.0, 6.0, 9.0, 12.0]);
        assert_eq!(sums.to_vec()?, [3.0, 10.0, 21.0]);

        let f = compile_on(&device, |x: Arr<i32, (N, M)>, start: Idx<M>| {
            let rows: Arr<i32, (N, M)> = stack(|i: Idx<N>| {
                iterate(i.u32(), x.row(i), |_, row: Arr<i32, M>| {
                    iterate(2, row, |k, row: Arr<i32, M>| row.with(Near::new(k), row.sum()))
                })
            });
            let (_, largest) = for_each::<N, _>((rows, start), |i, (rows, best): (Arr<i32, (N, M)>, Idx<M>)| {
                (rows, rows.at((i, best)).lt(rows.row(i).max()).select(rows.row(i).argmax(), best))
            });
            (rows, largest.i64())
        })?;
        let (rows, largest) = f.call(&[[1, 1, 9], [1, 2, 3], [1, 0, 2]], At::<M>::new(0))?;
        assert_eq!(rows.to_vec()?, [1, 1, 9, 6, 11, 3, 10, 17, 2]);
        assert_eq!(largest.value()?, 1);
    }
    Ok(())
}

/// Four buffers and no more for any number of turns, whichever way they go.
#[test]
fn explanations_tell_loops() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, N>| iterate(1000, x, |_, x: Arr<f32, N>| x.stencil(Border::Clamp, |x| x(-1) + x(1))))?;
    let text = f.explain().to_string();
    for words in
        ["all of it is one launch", "loop, 1000 turns", "copied   f32[N]: a turn reads what it would have written over"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    Ok(())
}
