//! No two modules at the top of a crate need each other, directly or around corners: each can be read, and moved, after those it
//! needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates whose modules form no circle.
const CRATES: [&str; 6] = ["slyz-sir", "slyz-lang", "slyz-macros", "slyz-run", "slyz", "slyz-cli"];

/// Module by module, which others it names.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Code without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<&str>>().join("\n")
}

/// The modules that are named behind `crate::`.
fn named(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for behind in code.split("crate::").skip(1) {
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        match behind.strip_prefix('{') {
            Some(list) => {
                let list = list.split(';').next().unwrap_or_default();
                names.extend(list.split([',', '{']).map(|part| word(part.trim())));
            }
            None => drop(names.insert(word(behind))),
        }
    }
    names
}

fn collect(path: &Path, module: &str, needs: &mut Needs) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder of the sources") {
            collect(&entry.expect("an entry").path(), module, needs);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).expect("a file of the sources");
        needs.entry(module.to_string()).or_default().extend(named(&code(&text)));
    }
}

fn needs(source: &Path) -> Needs {
    let mut needs = Needs::new();
    for entry in std::fs::read_dir(source).expect("the sources of the crate") {
        let path = entry.expect("an entry").path();
        let module = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        if module != "lib" && module != "main" {
            collect(&path, &module, &mut needs);
        }
    }
    let modules: BTreeSet<String> = needs.keys().cloned().collect();
    let root = std::fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
    let homes = homes(&code(&root), &modules);
    for (module, others) in &mut needs {
        let found = others.iter().map(|name| homes.get(name).unwrap_or(name)).cloned();
        *others = found.filter(|other| other != module && modules.contains(other)).collect();
    }
    needs
}

/// The modules of names that the root of a crate hands on.
fn homes(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut homes = BTreeMap::new();
    for handed in root.split("use ").skip(1) {
        let handed = handed.split(';').next().unwrap_or_default();
        let words: Vec<&str> = handed.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let module = words.iter().find(|word| modules.contains(**word));
        let names = words.iter().filter(|word| !word.is_empty() && !modules.contains(**word));
        homes.extend(
            module.into_iter().flat_map(|&module| names.clone().map(move |&name| (name.into(), module.into()))),
        );
    }
    homes
}

/// A way from a module back to itself.
fn circle(needs: &Needs) -> Option<Vec<String>> {
    fn back(needs: &Needs, way: &mut Vec<String>, seen: &mut BTreeSet<String>) -> bool {
        let here = way[way.len() - 1].clone();
        for next in &needs[&here] {
            if *next == way[0] {
                return true;
            }
            if seen.insert(next.clone()) {
                way.push(next.clone());
                if back(needs, way, seen) {
                    return true;
                }
                way.pop();
            }
        }
        false
    }
    needs.keys().find_map(|module| {
        let mut way = vec![module.clone()];
        back(needs, &mut way, &mut BTreeSet::new()).then_some(way)
    })
}

#[test]
fn modules_form_no_circle() {
    for name in CRATES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let found = circle(&needs(&source));
        assert!(found.is_none(), "{name}: {} and back", found.unwrap_or_default().join(" → "));
    }
}

#[test]
fn a_circle_is_seen() {
    let to = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<String>>();
    let mut needs = Needs::from([("a".into(), to(&["b"])), ("b".into(), to(&["c"])), ("c".into(), to(&[]))]);
    assert_eq!(circle(&needs), None);
    needs.insert("c".into(), to(&["a"]));
    assert_eq!(circle(&needs), Some(vec!["a".into(), "b".into(), "c".into()]));
    let modules = to(&["device", "launch"]);
    let homes = homes("pub use device::{Device, Error};\npub use launch::Launcher;", &modules);
    assert_eq!(homes.get("Device"), Some(&"device".to_string()));
    assert_eq!(homes.get("Launcher"), Some(&"launch".to_string()));
    assert_eq!(named("use crate::{x, y::{z}};\ncrate::w::f()"), to(&["w", "x", "y", "z"]));
}
