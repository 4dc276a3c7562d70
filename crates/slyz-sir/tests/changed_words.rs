//! Programs of the corpus with a few words changed: read or refused, verified or refused, and what verifies is written
//! for every target. Nothing panics on the way.

use proptest::prelude::*;
use slyz_sir::back::harness::{Target, emit};
use slyz_sir::pass::optimize;
use slyz_sir::{text, verify};
use slyz_trials::property;

/// Names, words and numbers, and the marks and spaces between them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut last = ' ';
    for c in text.chars() {
        let inside = |c: char| c.is_alphanumeric() || "_.%".contains(c);
        match words.last_mut() {
            Some(word) if inside(last) && inside(c) => word.push(c),
            Some(_) | None => words.push(c.to_string()),
        }
        last = c;
    }
    words
}

fn corpus() -> Vec<Vec<String>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let entries = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).expect("a file of the corpus"));
    // Cases are long lists of numbers; changes are to meet the program.
    texts.map(|text| words(text.split("\ncase ").next().unwrap_or_default())).collect()
}

fn targets() -> Vec<Target> {
    #[cfg(feature = "naga")]
    return vec![Target::Metal, Target::C, Target::Wgsl, Target::Spirv, Target::Web];
    #[cfg(not(feature = "naga"))]
    vec![Target::Metal, Target::C]
}

#[test]
fn random_changes_of_programs() {
    let corpus = corpus();
    let index = any::<prop::sample::Index>;
    let changes = prop::collection::vec((index(), index(), 0..4u8), 1..5);
    property("random_changes_of_programs", 400, (index(), changes), |(program, changes)| {
        let mut words = program.get(&corpus).clone();
        for (one, other, change) in changes {
            if words.is_empty() {
                break;
            }
            let (k, l) = (one.index(words.len()), other.index(words.len()));
            match change {
                0 => drop(words.remove(k)),
                1 => words.swap(k, l),
                2 => words[k] = words[l].clone(),
                _ => words.insert(k, words[l].clone()),
            }
        }
        let source = words.concat();
        let Ok(module) = text::parse_module(&source) else { return Ok(()) };
        let printed = text::print_module(&module);
        let again = text::parse_module(&printed).map(|again| text::print_module(&again));
        prop_assert_eq!(again, Ok(printed));
        for program in module.programs.iter().filter(|program| verify::program(program).is_ok()) {
            prop_assert_eq!(verify::program(&optimize(program)), Ok(()), "{}", program);
            for target in targets() {
                // What a target lacks is told; only a panic is a fault.
                let _ = emit(std::slice::from_ref(program), target);
            }
        }
        Ok(())
    });
}
