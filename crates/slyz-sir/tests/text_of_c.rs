//! Nobody reads generated text back: writers of C and its relatives ask trees (`back/tree.rs`), not strings.

use std::path::{Path, PathBuf};

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
const MAY: [&str; 5] = ["c/mod.rs", "c/prelude.rs", "clike/mod.rs", "clike/names.rs", "msl_names.rs"];

/// The code of a file, without comments and without the tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The writers of the C family, by their places in `back`: its folders, and the dialects beside them.
fn writers(back: &Path) -> Vec<(String, PathBuf)> {
    let files = |folder: &str| {
        let entries = std::fs::read_dir(back.join(folder)).expect("a folder of the sources");
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut found = vec![];
    for folder in ["c", "clike", ""] {
        for path in files(folder) {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !file.ends_with(".rs") || folder.is_empty() && !file.starts_with("msl") {
                continue;
            }
            let name = if folder.is_empty() { file } else { format!("{folder}/{file}") };
            found.push((name, path));
        }
    }
    found.retain(|(name, _)| !MAY.contains(&&name[..]));
    found
}

#[test]
fn nobody_reads_generated_text() {
    let back = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/back");
    let writers = writers(&back);
    assert!(writers.iter().any(|(name, _)| name == "msl.rs"), "the dialect for Metal is not looked at: {writers:?}");
    let mut wrong = vec![];
    for (name, path) in writers {
        let text = std::fs::read_to_string(&path).expect("a file of the sources");
        let found = code(&text).filter(|(_, line)| READING.iter().any(|word| line.contains(word)));
        wrong.extend(found.map(|(k, line)| format!("{name}:{}: {}", k + 1, line.trim())));
    }
    assert!(wrong.is_empty(), "these look into strings; ask a tree instead:\n{}", wrong.join("\n"));
}
