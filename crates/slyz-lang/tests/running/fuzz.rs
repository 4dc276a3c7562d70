//! Programs with a few tokens changed run, or are refused: nothing panics on the way from the text to the last launch.

use crate::golden;
use crate::program::run_on;
use proptest::prelude::*;
use slyz_lang::host::Interpreter;
use slyz_lang::render::render;
use slyz_sir::interp::kernel::LaunchOptions;
use slyz_trials::property;

/// Words, numbers and marks, and the lines between them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut last = ' ';
    for c in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        match tokens.last_mut() {
            Some(token) if word(last) && word(c) || last == ' ' && c == ' ' => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = c;
    }
    tokens
}

/// Programs without `while`: a changed one might never end.
fn programs() -> Vec<Vec<String>> {
    let files = [golden::files("host"), golden::files("page")].concat();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    // A megabyte of threads is too slow for many runs.
    let ends = |text: &String| !text.contains("while") && !text.contains("loop") && !text.contains("64, 64");
    texts.filter(ends).map(|text| tokens(&text)).collect()
}

#[test]
fn random_changes_run() {
    property(
        "random_changes_run",
        300,
        (
            any::<prop::sample::Index>(),
            prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..4),
        ),
        |(program, changes)| {
            let programs = programs();
            let mut tokens = program.get(&programs).clone();
            for (one, other, change) in changes {
                // The smallest program has two tokens.
                if tokens.is_empty() {
                    break;
                }
                let (k, l) = (one.index(tokens.len()), other.index(tokens.len()));
                match change {
                    0 => drop(tokens.remove(k)),
                    1 => tokens.swap(k, l),
                    _ => tokens[k] = tokens[l].clone(),
                }
            }
            let text = tokens.concat();
            let options = LaunchOptions { max_turns: 1 << 14, ..LaunchOptions::default() };
            let ran = run_on(&text, &mut Interpreter { options });
            render("fuzz.vex", &text, &ran.diagnostics);
            for diagnostic in &ran.diagnostics {
                let span = diagnostic.span;
                prop_assert!(text.get(span.start as usize..span.end as usize).is_some());
            }
            Ok(())
        },
    );
}
