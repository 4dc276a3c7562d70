//! Nobody reads generated text back: writers of C and its relatives ask trees (`back/tree.rs`), not strings.

use std::path::Path;

/// What looks into a string.
const READING: [&str; 14] = [
    "split_once",
    "rsplit",
    ".split(",
    "strip_prefix",
    "strip_suffix",
    ".trim",
    "starts_with",
    "ends_with",
    "parse::<",
    ".replace(",
    ".contains('",
    ".contains(\"",
    ".chars()",
    "tokens(",
];

/// Files that look at names, or at the source of the prelude, which people wrote.
const MAY: [&str; 4] = ["c/mod.rs", "c/prelude.rs", "clike/mod.rs", "clike/names.rs"];

/// The code of a file, without comments and without the tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn nobody_reads_generated_text() {
    let back = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/back");
    let mut wrong = vec![];
    for folder in ["c", "clike"] {
        for entry in std::fs::read_dir(back.join(folder)).expect("a folder of the sources") {
            let path = entry.expect("an entry").path();
            let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if path.is_dir() || MAY.contains(&&name[..]) {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the sources");
            let found = code(&text).filter(|(_, line)| READING.iter().any(|word| line.contains(word)));
            wrong.extend(found.map(|(k, line)| format!("{name}:{}: {}", k + 1, line.trim())));
        }
    }
    assert!(wrong.is_empty(), "these look into strings; ask a tree instead:\n{}", wrong.join("\n"));
}
