//! How many files a new operation of SIR touches: those that name all operations there are.
//!
//! Whoever asks for operands, bodies, sizes, accesses or the class of an operation (`code.rs`) needs no list of them.

use std::path::{Path, PathBuf};

/// Files that name every operation, and have to: its text, its types, its rules, its meaning, its lowering, its form in every backend.
const MOST_FILES: usize = 12;

/// Code without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<&str>>().join("\n")
}

fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// The operations, from where they are declared.
fn operations(declared: &str) -> Vec<String> {
    let body = declared.split("pub enum Op {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap_or_default();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    lines.map(word).filter(|name| name.starts_with(char::is_uppercase)).map(String::from).collect()
}

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder of the sources") {
            sources(&entry.expect("an entry").path(), found);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        found.push(path.to_path_buf());
    }
}

#[test]
fn few_files_know_all_operations() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| code(&std::fs::read_to_string(path).expect("a file of the sources"));
    let operations = operations(&read(&crates.join("slyz-sir/src/code.rs")));
    assert!(operations.len() >= 24, "{operations:?}");
    let mut files = vec![];
    for entry in std::fs::read_dir(&crates).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    let knows = |path: &PathBuf| {
        let text = read(path);
        operations.iter().all(|name| text.split("Op::").skip(1).any(|rest| word(rest) == name))
    };
    let all: Vec<String> = files.iter().filter(|path| knows(path)).map(|path| path.display().to_string()).collect();
    assert!(all.len() <= MOST_FILES, "{} files name all operations:\n{}", all.len(), all.join("\n"));
}
