//! A system of linear equations, solved by elimination with pivots. The matrix is changed in place: a step writes below and to the right
//! of its pivot, and nowhere else.
//!
//! `cargo run --release --example lu`

use slyz::prelude::*;

axis!(N);

type Square = Arr<f32, (N, N)>;
type Line = Arr<f32, N>;

/// The matrix with the rows `p` and `q` in each other's place.
fn swap_rows(a: Square, p: Idx<N>, q: Idx<N>) -> Square {
    a.scatter_last(|(which, j): Pos<(Fix<2>, N)>| {
        let first = which.i64().eq(0);
        ((first.select(p, q), j), a.at((first.select(q, p), j)))
    })
}

/// Both factors in one matrix, and which row of `a` each of its rows was.
fn factor(a: Square) -> (Square, Arr<u32, N>) {
    let order: Arr<u32, N> = iota();
    for_each((a, order), |k: Idx<N>, (a, order): (Square, Arr<u32, N>)| {
        let pivot = tabulate(|i: Idx<N>| i.ge(k).select(a.at((i, k)).abs(), -1.0)).argmax();
        let a = swap_rows(a, k, pivot);
        let (here, there) = (order.at(k), order.at(pivot));
        let order = order.with(k, there).with(pivot, here);
        let column: Line = tabulate(|i: Idx<N>| i.gt(k).select(a.at((i, k)) / a.at((k, k)), a.at((i, k))));
        let a = a.scatter_last(|i: Idx<N>| ((i, k), column.at(i)));
        let a = tabulate(|(i, j)| (i.gt(k) & j.gt(k)).select(a.at((i, j)) - column.at(i) * a.at((k, j)), a.at((i, j))));
        (a, order)
    })
}

/// The `x` with `a x = b`.
fn solve(a: Square, b: Line) -> Line {
    let (lu, order) = factor(a);
    let b: Line = tabulate(|i| b.get(order.at(i)).clamp());
    let y = for_each(b, |i: Idx<N>, y: Line| {
        let known = sum(|j: Idx<N>| j.lt(i).select(lu.at((i, j)) * y.at(j), 0.0));
        y.with(i, y.at(i) - known)
    });
    for_each(y, |i: Idx<N>, x: Line| {
        let i = i.reversed();
        let known = sum(|j: Idx<N>| j.gt(i).select(lu.at((i, j)) * x.at(j), 0.0));
        x.with(i, (x.at(i) - known) / lu.at((i, i)))
    })
}

fn main() -> Result<(), slyz::Error> {
    let solve = slyz::compile(solve)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", solve.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", solve.explain());
            return Ok(());
        }
        _ => {}
    }
    let n = 100;
    let a: Vec<f32> = (0..n * n).map(|p| (p * p % 1009) as f32 / 504.5 - 1.0).collect();
    let b: Vec<f32> = (0..n).map(|i| (i % 9) as f32 - 4.0).collect();
    let x = solve.call((&a, [n, n]), &b)?.to_vec()?;
    let off = (0..n).map(|i| {
        let product: f64 = (0..n).map(|j| f64::from(a[i * n + j]) * f64::from(x[j])).sum();
        (product - f64::from(b[i])).abs()
    });
    let off = off.fold(0.0, f64::max);
    println!("{n} equations: no side is off by more than {off:.1e}");
    assert!(off < 1e-2);
    Ok(())
}
