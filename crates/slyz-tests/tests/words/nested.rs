//! Folds within folds, along rows that stay and rows that turns tell, against plain Rust.

use crate::devices;
use slyz::Error;
use slyz::prelude::*;

axis!(N, K, D);

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919) % 101) as f32 / 8.0).collect()
}

/// The centre nearest to each point, how near it is, and the kernel of all: whole numbers of 64ths, so that sums are exact.
#[test]
fn rows_by_rows() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |points: Arr<f32, (N, D)>, centres: Arr<f32, (K, D)>| {
            let far = |i: Idx<N>, k: Idx<K>| {
                sum(|d: Idx<D>| {
                    let off = points.at((i, d)) - centres.at((k, d));
                    off * off
                })
            };
            let nearest: Arr<At<K>, N> = tabulate(|i| argmin(|k| far(i, k)));
            let least: Arr<f32, N> = tabulate(|i| fold(MinOf, |k: Idx<K>| far(i, k)));
            let all: Arr<f32, N> = tabulate(|i| sum(|k: Idx<K>| far(i, k) * 2.0));
            (nearest, least, all)
        })?;
        for (n, k, d) in [(1, 1, 1), (37, 5, 3), (100, 8, 16), (33, 70, 2), (20, 3, 64), (9, 4, 65), (5, 2, 0)] {
            let points = numbers(n * d);
            let centres: Vec<f32> = numbers(k * d + 5).split_off(5);
            let (nearest, least, all) = f.call((&points, [n, d]), (&centres, [k, d]))?;
            let far = |i: usize, k: usize| -> f32 {
                (0..d).map(|j| points[i * d + j] - centres[k * d + j]).map(|off| off * off).sum()
            };
            let first = |i: usize| (0..k).reduce(|a, b| if far(i, b) < far(i, a) { b } else { a }).unwrap_or(0);
            let what = format!("{n} points, {k} centres, {d} numbers on {}", device.name());
            let expected: Vec<At<K>> = (0..n).map(|i| At::new(first(i) as u64)).collect();
            assert_eq!(nearest.to_vec()?, expected, "{what}");
            assert_eq!(least.to_vec()?, (0..n).map(|i| far(i, first(i))).collect::<Vec<_>>(), "{what}");
            let sums: Vec<f32> = (0..n).map(|i| (0..k).map(|k| far(i, k) * 2.0).sum()).collect();
            assert_eq!(all.to_vec()?, sums, "{what}");
        }
    }
    Ok(())
}
