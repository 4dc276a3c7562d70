//! Small functions that a language lacks, written once in it.
//!
//! A paragraph of a library begins with its name in a comment, and stands behind those that it mentions. A file carries those that
//! its kernels reach.

use super::c::prelude::identifiers;
use std::collections::BTreeSet;

/// The texts of a library, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library(pub(super) &'static [&'static str]);

impl Library {
    /// A paragraph: its name, and its text without the comment.
    fn paragraphs(self) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
        self.0
            .iter()
            .flat_map(|text| text.split("\n\n"))
            .filter_map(|paragraph| {
                let (head, text) = paragraph.strip_prefix("// ")?.split_once('\n')?;
                let name = head.split(':').next().unwrap_or(head);
                Some((name, text.trim_end()))
            })
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// What a text mentions, and what that mentions, in the order of the library.
    pub(super) fn mentioned_by(self, text: &str) -> String {
        let mut wanted: BTreeSet<&str> = identifiers(text).collect();
        let mut found = vec![];
        // Whoever mentions another stands behind it.
        for (name, text) in self.paragraphs().rev() {
            if wanted.contains(name) {
                wanted.extend(identifiers(text));
                found.push(text);
            }
        }
        found.iter().rev().map(|text| format!("{text}\n\n")).collect()
    }

    /// Is it the name of one of them?
    pub(super) fn has(self, name: &str) -> bool {
        self.paragraphs().any(|(known, _)| known == name)
    }
}
