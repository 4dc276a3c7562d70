//! Small functions that CUDA lacks, written once in CUDA.
//!
//! A paragraph of `library.cu` begins with its name in a comment, and stands behind those that it mentions. A file carries those that
//! its kernels reach.

use crate::back::c::prelude::identifiers;
use std::collections::BTreeSet;

const SOURCE: &str = include_str!("library.cu");

/// A paragraph: its name, and its text without the comment.
fn paragraphs() -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    SOURCE
        .split("\n\n")
        .filter_map(|paragraph| {
            let (head, text) = paragraph.strip_prefix("// ")?.split_once('\n')?;
            let name = head.split(':').next().unwrap_or(head);
            Some((name, text.trim_end()))
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// What a text mentions, and what that mentions, in the order of the library.
pub(super) fn mentioned_by(text: &str) -> String {
    let mut wanted: BTreeSet<&str> = identifiers(text).collect();
    let mut found = vec![];
    // Whoever mentions another stands behind it.
    for (name, text) in paragraphs().rev() {
        if wanted.contains(name) {
            wanted.extend(identifiers(text));
            found.push(text);
        }
    }
    found.iter().rev().map(|text| format!("{text}\n\n")).collect()
}

/// Is it the name of one of them?
pub(super) fn has(name: &str) -> bool {
    paragraphs().any(|(known, _)| known == name)
}
