//! Where does a word occur in a text? All places are looked at beside each other, and `filter` keeps those where the word starts. How
//! many there are is known only then.
//!
//! `cargo run --release --example string_search`

use slyz::prelude::*;

axis!(Text, Word, Found);

fn occurrences(text: Arr<u8, Text>, word: Arr<u8, Word>) -> Arr<At<Text>, Found> {
    let places: Arr<At<Text>, Text> = tabulate(|i: Idx<Text>| i);
    places.filter(|start: Idx<Text>| {
        all(|k: Idx<Word>| {
            let letter = start + k.i64();
            letter.inside() & text.at(letter.clamp()).eq(word.at(k))
        })
    })
}

fn main() -> Result<(), slyz::Error> {
    let find = slyz::compile(occurrences)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", find.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", find.explain());
            return Ok(());
        }
        _ => {}
    }
    let strand = strand(1_000_000);
    for word in ["GATTACA", "AAAAAA", "A", "ACGTACGTACGTACGTACGT"] {
        let found = find.call(&strand, word.as_bytes())?.to_vec()?;
        let plain = strand.windows(word.len()).enumerate().filter(|(_, letters)| *letters == word.as_bytes());
        assert!(found.iter().map(|at| at.get()).eq(plain.map(|(i, _)| i as u64)), "{word} is elsewhere");
        let first: Vec<u64> = found.iter().take(4).map(|at| at.get()).collect();
        println!("{word} occurs {} times in {} letters, first at {first:?}", found.len(), strand.len());
    }
    // A word that is cut off by the end of the text does not occur there.
    assert_eq!(find.call(b"no banana, bana", b"bana")?.to_vec()?, [3, 11].map(At::new));
    Ok(())
}

/// Letters of a genome, by lot.
fn strand(letters: usize) -> Vec<u8> {
    let mut seed = 11u32;
    let mut letter = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"ACGT"[(seed >> 30) as usize]
    };
    (0..letters).map(|_| letter()).collect()
}
