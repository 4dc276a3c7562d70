//! Nussinov: how a strand of RNA folds so that most letters pair. The table is filled from short stretches to long ones; the
//! fold is read off it afterwards.
//!
//! `cargo run --release --example rna_folding`

use slyz::prelude::*;

axis!(N);

type Table = Arr<u32, (N, N)>;

/// So many letters lie between two that pair, at least.
const BEND: i64 = 3;

fn pairs(a: Exp<u8>, b: Exp<u8>) -> Exp<bool> {
    let two = |x: u8, y: u8| (a.eq(x) & b.eq(y)) | (a.eq(y) & b.eq(x));
    two(b'A', b'U') | two(b'G', b'C') | two(b'G', b'U')
}

/// `[len, i]` is how many pairs the letters `i` to `i + len` can form, both included.
fn fold_up(s: Arr<u8, N>) -> Table {
    let none: Table = fill(0);
    for_each(none, |len: Idx<N>, table: Table| {
        let row: Arr<u32, N> = tabulate(|i: Idx<N>| {
            let last = i + len.i64();
            let paired = pairs(s.at(i), s.at(last.clamp())) & len.i64().gt(BEND);
            let inside = table.at_or((len - 2, i + 1), 0) + paired.cast::<u32>();
            // Cut anywhere: both parts fold on their own.
            let cut = max(|k: Idx<N>| {
                let parts = table.at((k, i)) + table.at_or((len.i64() - k.i64() - 1, (i + k.i64()) + 1), 0);
                k.lt(len).select(parts, 0)
            });
            last.inside().select(inside.max(cut), 0)
        });
        table.with_row(len, row)
    })
}

/// The same in plain Rust.
fn plain(s: &[u8]) -> Vec<u32> {
    let n = s.len();
    let mut table = vec![0u32; n * n];
    for len in 1..n {
        for i in 0..n - len {
            let inside = if len >= 2 { table[(len - 2) * n + i + 1] } else { 0 };
            let cut = (0..len).map(|k| table[k * n + i] + table[(len - k - 1) * n + i + k + 1]);
            let best = cut.max().unwrap_or(0);
            table[len * n + i] = best.max(inside + u32::from(can_pair(s, i, i + len)));
        }
    }
    table
}

fn can_pair(s: &[u8], i: usize, j: usize) -> bool {
    let two = (s[i].min(s[j]), s[i].max(s[j]));
    j as i64 - i as i64 > BEND && [(b'A', b'U'), (b'C', b'G'), (b'G', b'U')].contains(&two)
}

/// Brackets around what pairs in the letters `i` to `i + len`, read off the table.
fn brackets(s: &[u8], table: &[u32], i: usize, len: usize, out: &mut [char]) {
    let n = s.len();
    let here = table[len * n + i];
    if here == 0 {
        return;
    }
    let inside = if len >= 2 { table[(len - 2) * n + i + 1] } else { 0 };
    if can_pair(s, i, i + len) && here == inside + 1 {
        out[i] = '(';
        out[i + len] = ')';
        if len >= 2 {
            brackets(s, table, i + 1, len - 2, out);
        }
        return;
    }
    let cut = (0..len).find(|k| here == table[k * n + i] + table[(len - k - 1) * n + i + k + 1]);
    if let Some(k) = cut {
        brackets(s, table, i, k, out);
        brackets(s, table, i + k + 1, len - k - 1, out);
    }
}

fn main() -> Result<(), slyz::Error> {
    let fold_up = slyz::compile(fold_up)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", fold_up.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", fold_up.explain());
            return Ok(());
        }
        _ => {}
    }
    // A transfer RNA of yeast, the one for phenylalanine.
    let s = b"GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA";
    let table = fold_up.call(s)?.to_vec()?;
    assert_eq!(table, plain(s));
    let mut fold = vec!['.'; s.len()];
    brackets(s, &table, 0, s.len() - 1, &mut fold);
    println!("{}\n{}", String::from_utf8_lossy(s), fold.iter().collect::<String>());
    let found = fold.iter().filter(|&&c| c == '(').count();
    assert_eq!(found as u32, table[(s.len() - 1) * s.len()], "the brackets are as many as the table says");
    println!("{found} pairs");
    Ok(())
}
