//! A sparse matrix times a vector. Rows lie one behind the other, as in the format CSR, and `segmented_fold` adds up each, however
//! different their lengths are.
//!
//! `cargo run --release --example sparse_product`

use slyz::prelude::*;

axis!(Rows, Cols, Entries);

/// Row `r` has the entries from `starts[r]` up to `starts[r + 1]`.
fn product(
    starts: Arr<u32, Either<Rows, Fix<1>>>,
    column: Arr<At<Cols>, Entries>,
    value: Arr<f32, Entries>,
    x: Arr<f32, Cols>,
) -> Arr<f32, Rows> {
    let terms: Arr<f32, Entries> = tabulate(|e| value.at(e) * x.at(column.at(e)));
    terms.segmented_fold(Sum, Segments::by_offsets(starts))
}

fn main() -> Result<(), slyz::Error> {
    let product = slyz::compile(product)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", product.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", product.explain());
            return Ok(());
        }
        _ => {}
    }
    let (rows, cols) = (20_000, 5_000);
    let starts = offsets(rows);
    let entries = starts[rows];
    let column: Vec<At<Cols>> = (0..entries).map(|e| At::new(u64::from(e) * 2_654_435_761 % cols)).collect();
    let value: Vec<f32> = (0..entries).map(|e| (e % 17) as f32 - 8.0).collect();
    let x: Vec<f32> = (0..cols).map(|j| (j % 11) as f32 - 5.0).collect();
    let y = product.call(&starts, &column, &value, &x)?.to_vec()?;

    // All numbers are whole and small, so sums are exact in any order.
    for (r, found) in y.iter().enumerate() {
        let row = starts[r] as usize..starts[r + 1] as usize;
        let plain: f32 = row.map(|e| value[e] * x[column[e].get() as usize]).sum();
        assert_eq!(*found, plain, "row {r}");
    }
    let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let empty = starts.windows(2).filter(|pair| pair[0] == pair[1]).count();
    println!(
        "{rows} rows with {entries} entries, the longest with {longest}, {empty} with none: as plain loops have it"
    );
    Ok(())
}

/// Where rows start, and where the last one ends: every third row is empty, and a few are very long.
fn offsets(rows: usize) -> Vec<u32> {
    let length = |r: usize| if r.is_multiple_of(3) { 0 } else { 40_000 / (r as u32 + 1) + r as u32 % 7 };
    let mut starts = vec![0];
    let mut end = 0;
    for r in 0..rows {
        end += length(r);
        starts.push(end);
    }
    starts
}
