//! Runs of equal letters as one letter and a number each, and back again: `run_length` there, a scan of the lengths and a search in it
//! for each letter on the way back.
//!
//! `cargo run --release --example run_length`

use slyz::prelude::*;

axis!(Letters, Runs);

fn encode(text: Arr<u8, Letters>) -> (Arr<u8, Runs>, Arr<u32, Runs>) {
    text.run_length()
}

/// A letter belongs to the first run that ends behind it.
fn decode(letters: Arr<u8, Runs>, lengths: Arr<u32, Runs>) -> Arr<u8, Letters> {
    let ends = lengths.scan(Sum);
    tabulate(|i: Idx<Letters>| {
        let run = ends.search_sorted(i.u32(), Side::Right);
        letters.at(run.clamp())
    })
}

fn main() -> Result<(), slyz::Error> {
    let encode = slyz::compile(encode)?;
    let decode = slyz::compile(decode)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}\n{}", encode.source(), decode.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}\n{}", encode.explain(), decode.explain());
            return Ok(());
        }
        _ => {}
    }
    let (height, width) = (18, 64);
    let page = target(height, width);
    let (letters, lengths) = encode.call(&page)?;
    let back = decode.size::<Letters>(page.len()).call(&letters, &lengths)?.to_vec()?;
    assert_eq!(back, page, "the way back leads elsewhere");
    for line in back.chunks(width) {
        println!("{}", String::from_utf8_lossy(line));
    }

    let runs: Vec<(u8, u32)> = letters.to_vec()?.into_iter().zip(lengths.to_vec()?).collect();
    assert_eq!(runs, plain(&page));
    let first: Vec<String> = runs.iter().take(6).map(|(letter, n)| format!("{n}×{}", char::from(*letter))).collect();
    println!("{} letters are {} runs: {} ..", page.len(), runs.len(), first.join(" "));
    Ok(())
}

/// A target in letters.
fn target(height: usize, width: usize) -> Vec<u8> {
    let ring = |i: usize, j: usize| {
        let down = 2.0 * (i as f32 - (height - 1) as f32 / 2.0);
        let right = j as f32 - (width - 1) as f32 / 2.0;
        (down.hypot(right) / 6.0) as usize
    };
    (0..height * width).map(|p| b"#.+ "[ring(p / width, p % width).min(3)]).collect()
}

/// The same by a loop.
fn plain(page: &[u8]) -> Vec<(u8, u32)> {
    let mut runs: Vec<(u8, u32)> = vec![];
    for &letter in page {
        match runs.last_mut() {
            Some((last, n)) if *last == letter => *n += 1,
            _ => runs.push((letter, 1)),
        }
    }
    runs
}
