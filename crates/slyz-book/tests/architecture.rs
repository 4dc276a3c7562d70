//! The recipes of ARCHITECTURE.md name every file that they take.
//!
//! Each recipe has a specimen: an operator, a pass, a device. The files of the sources that name it are those that the recipe lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that a recipe names.
fn listed(recipe: &str) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md"))?;
    let (_, rest) = text.split_once(&format!("\n### {recipe}\n")).ok_or(format!("there is no recipe {recipe}"))?;
    let recipe = rest.split("\n##").next().unwrap_or_default();
    let quoted = recipe.split('`').skip(1).step_by(2);
    Ok(quoted.filter(|word| word.starts_with("crates/")).map(String::from).collect())
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "c") {
            found.push(path);
        }
    }
    Ok(())
}

/// Code without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<&str>>().join("\n")
}

/// The files of the sources whose code, or whose name, has one of the words.
fn naming(words: &[&str]) -> Result<BTreeSet<String>> {
    let root = root();
    let mut found = vec![];
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut found)?;
        }
    }
    let mut files = BTreeSet::new();
    for path in found {
        let text = code(&fs::read_to_string(&path)?);
        let mut all = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_own = path.file_stem().is_some_and(|stem| words.iter().any(|word| stem == *word));
        if is_own || all.any(|word| words.contains(&word)) {
            files.insert(path.strip_prefix(&root)?.display().to_string());
        }
    }
    Ok(files)
}

#[test]
fn an_operator_takes_the_files_that_are_named() -> Result {
    assert_eq!(listed("Add an operator")?, naming(&["sinh", "Sinh", "sinh_f32", "sinh_f64"])?);
    Ok(())
}

#[test]
fn a_pass_takes_the_files_that_are_named() -> Result {
    let mut listed = listed("Add a pass")?;
    assert!(listed.remove("crates/slyz-sir/tests/properties.rs"), "the test of all passes is not named");
    assert_eq!(listed, naming(&["hoist"])?);
    Ok(())
}

/// What the recipe names is there, and the toy needs nothing else of the crate to be changed than its module.
#[test]
fn a_device_takes_the_files_that_are_named() -> Result {
    for file in listed("Add a device")? {
        assert!(root().join(&file).exists(), "ARCHITECTURE.md names {file}");
    }
    let toy = naming(&["Toy", "toy"])?;
    let expected = ["crates/slyz-run/src/driver/toy.rs"].map(String::from);
    assert!(toy.is_subset(&expected.into()), "{toy:?}");
    let lines = fs::read_to_string(root().join("crates/slyz-run/src/driver/toy.rs"))?.lines().count();
    assert!(lines <= 420, "a device is {lines} lines");
    Ok(())
}

/// How large the devices may be, in lines of code: what is theirs to do is memory, code and launches.
#[test]
fn devices_are_small() -> Result {
    for (folder, most) in [("cpu", 900), ("wgpu", 1850)] {
        let mut files = vec![];
        sources(&root().join("crates/slyz-run/src").join(folder), &mut files)?;
        let mut lines = 0;
        for file in files {
            lines += code(&fs::read_to_string(file)?).lines().filter(|line| !line.trim().is_empty()).count();
        }
        assert!(lines <= most, "{folder} has {lines} lines, and may have {most}");
    }
    Ok(())
}
