//! Needleman and Wunsch: the best alignment of two sequences. The table of scores is filled row by row, each row by a scan; then a loop
//! walks back from its corner and marks the way.
//!
//! `cargo run --release --example alignment -- --out alignment.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, glow, save_flat};
use std::error::Error;

axis!(N, M);

type Table = Arr<i32, (N, M)>;
/// A score is 4 × 4 of them.
type Pixels = (Flat<N, Fix<4>>, Flat<M, Fix<4>>);

const SAME: i32 = 2;
const OTHER: i32 = -1;
const GAP: i32 = 2;

fn score(a: Exp<u8>, b: Exp<u8>) -> Exp<i32> {
    a.eq(b).select(SAME, OTHER)
}

/// `[i, j]` is the score of the best alignment of the letters 1 to `i` with the letters 1 to `j`; the letters 0 are not looked at.
fn table(a: Arr<u8, N>, b: Arr<u8, M>) -> Table {
    let edge: Arr<i32, M> = tabulate(|j: Idx<M>| -GAP * j.to::<i32>());
    let (_, rows) = scan_over(edge, |last: Arr<i32, M>, i: Idx<N>| {
        let ends = tabulate(|j: Idx<M>| {
            let both = last.at((j - 1).clamp()) + score(a.at(i), b.at(j));
            let gap = last.at(j) - GAP;
            j.i64().eq(0).select(gap, both.max(gap))
        });
        // A gap of any length behind one of these ends costs what lies between: a running maximum on a slope.
        let row = (ends - edge).scan(MaxOf) + edge;
        let row = tabulate(|j: Idx<M>| i.i64().eq(0).select(edge.at(j), row.at(j)));
        (row, row)
    });
    rows
}

/// The way of the best alignment through the table: 1 where it goes.
fn way(a: Arr<u8, N>, b: Arr<u8, M>, table: Table) -> Arr<u8, (N, M)> {
    type Walk = (Exp<i64>, Exp<i64>, Arr<u8, (N, M)>);
    let none: Arr<u8, (N, M)> = fill(0);
    let corner = (Idx::<N>::extent() - 1, Idx::<M>::extent() - 1, none);
    let (_, _, way) = repeat_while(
        corner,
        |(i, j, _): Walk| i.ge(0) & j.ge(0),
        |(i, j, way): Walk| {
            let at = |i: Exp<i64>, j: Exp<i64>| table.at_or((i, j), i32::MIN / 2);
            let here = at(i, j);
            let both = here.eq(at(i - 1, j - 1) + score(a.get(i).clamp(), b.get(j).clamp()));
            let up = !both & here.eq(at(i - 1, j) - GAP);
            let left = !both & !up;
            let marked = way.with((Near::new(i), Near::new(j)), 1);
            (left.select(i, i - 1), up.select(j, j - 1), marked)
        },
    );
    way
}

/// Scores as colours, the way white.
fn picture(table: Table, way: Arr<u8, (N, M)>) -> Arr<[u8; 3], Pixels> {
    let low = table.min().cast::<f32>();
    let high = table.max().cast::<f32>();
    tabulate(|(y, x): Pos<Pixels>| {
        let p = (y.outer(), x.outer());
        let t = (table.at(p).cast::<f32>() - low) / (high - low);
        glow(0.85 * t).map(|c| way.at(p).eq(1).select(255, c))
    })
}

fn plain(a: &[u8], b: &[u8]) -> Vec<i32> {
    let m = b.len();
    let mut table: Vec<i32> = (0..a.len() * m).map(|p| -GAP * (p % m + p / m) as i32).collect();
    for i in 1..a.len() {
        for j in 1..m {
            let both = table[(i - 1) * m + j - 1] + if a[i] == b[j] { SAME } else { OTHER };
            let gap = table[(i - 1) * m + j].max(table[i * m + j - 1]) - GAP;
            table[i * m + j] = both.max(gap);
        }
    }
    table
}

/// Both sequences along the way, one below the other.
fn print(a: &[u8], b: &[u8], way: &[u8]) {
    let (mut i, mut j) = (0, 0);
    let mut lines = [String::new(), String::new(), String::new()];
    while i + 1 < a.len() || j + 1 < b.len() {
        let on = |i: usize, j: usize| i < a.len() && j < b.len() && way[i * b.len() + j] == 1;
        let down = !on(i, j + 1);
        let right = !on(i + 1, j);
        i += usize::from(down);
        j += usize::from(right);
        let letters = [if down { a[i] as char } else { '-' }, if right { b[j] as char } else { '-' }];
        lines[0].push(letters[0]);
        lines[1].push(if letters[0] == letters[1] { '|' } else { ' ' });
        lines[2].push(letters[1]);
    }
    println!("{}", lines.join("\n"));
}

fn main() -> Result<(), Box<dyn Error>> {
    let align = slyz::compile(table)?;
    if asked_about(&align) {
        return Ok(());
    }
    let a = b" GATTACAGGCTTAACGCTAGGATCCATTGCAACGTTAGCCATGGCTAACCGTATGCATTGACGGATCACTTAGC";
    let b = b" GATTCAGGCTTACGCGCTAGGTCCATTTTCATGCAAGTTAGCCATGTAACCGTAGCAATTGACGCTCACTTAAGGCGTAGC";
    let table = align.call(a, b)?;
    assert_eq!(table.to_vec()?, plain(a, b));
    let way = slyz::compile(way)?.call(a, b, &table)?;
    print(a, b, &way.to_vec()?);
    let rgb = slyz::compile(picture)?.call(&table, &way)?.to_vec()?;
    save_flat("alignment", [4 * a.len(), 4 * b.len()], &rgb)
}
