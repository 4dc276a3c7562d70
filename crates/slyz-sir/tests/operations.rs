//! How many files a new operation of SIR touches, and a new operator of mathematics: those that name all operations there are, and
//! those that name the operator.
//!
//! Whoever asks for operands, bodies, sizes, accesses or the class of an operation (`code.rs`) needs no list of them.

use slyz_sir::ops::{Operator, Row, TABLE};
use slyz_sir::types::Ty;
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
    } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "c") {
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

/// Files that name a mathematical operator: its row, its algorithm, its methods, and where a GPU has its own.
const MOST_FILES_OF_AN_OPERATOR: usize = 4;

/// Operators that passes know as well: constant powers become products and roots, whose reciprocals divisions are made of; a GELU that a
/// library makes with a product is told by its `tanh`.
const KNOWN_TO_PASSES: [&str; 4] = ["Pow", "Powi", "Rsqrt", "Tanh"];

/// Does a file name an operator, as one of the table or as a function of C?
fn names(text: &str, operator: Operator) -> bool {
    let variant = format!("{operator:?}");
    let row = operator.row();
    let after = |mark: &str| text.split(mark).skip(1).any(|rest| word(rest) == variant);
    let imported = |rest: &str| rest.split('}').next().is_some_and(|list| list.split(", ").any(|name| name == variant));
    let in_c = [format!("{}_f32(", row.name), format!("{}_f64(", row.name)];
    after("Operator::")
        || after(" -> same ")
        || text.contains(&format!("    {variant} \"{}\"", row.name))
        || text.split("use Operator::{").skip(1).any(imported)
        || in_c.iter().any(|name| text.contains(name.as_str()))
}

#[test]
fn few_files_name_a_mathematical_operator() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![];
    for name in ["slyz", "slyz-lang", "slyz-macros", "slyz-run", "slyz-sir"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|path| {
            let text = code(&std::fs::read_to_string(&path).expect("a file of the sources"));
            (path, text)
        })
        .collect();
    let expanded = |row: &Row| row.ulp > 0 && slyz_sir::expand::operator(row.operator, Ty::F32).is_some();
    let mathematical = |row: &&Row| expanded(row) || row.operator == Operator::ReverseBits;
    let mut seen = 0;
    for row in TABLE.iter().filter(mathematical) {
        let variant = format!("{:?}", row.operator);
        if KNOWN_TO_PASSES.contains(&variant.as_str()) {
            continue;
        }
        let named = texts.iter().filter(|(_, text)| names(text, row.operator));
        let named: Vec<String> = named.map(|(path, _)| path.display().to_string()).collect();
        assert!(named.len() >= 3, "{variant} has a row, an algorithm and methods: {named:?}");
        assert!(named.len() <= MOST_FILES_OF_AN_OPERATOR, "{variant} is named in {}", named.join(", "));
        seen += 1;
    }
    assert!(seen > 20, "{seen} operators");
}
