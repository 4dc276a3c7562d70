//! The corpus through Metal: every graph optimized, lowered, written as MSL, compiled against the shim, run, and compared.
#![cfg(feature = "cpu")]

mod devices;
mod metal;

use slyz_sir::back::harness::{Program, ProgramError};
use slyz_sir::graph::Graph;
use slyz_sir::interp;
use slyz_sir::text::{Case, Subject, parse_file};
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let list = std::fs::read_dir(&folder).expect("the folder tests/corpus");
    let mut files: Vec<PathBuf> = list.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    files.sort();
    let part = std::env::var("SLYZ_CORPUS").unwrap_or_default();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&part)));
    files
}

/// A graph of the corpus with its cases, under a name that no other has.
struct Subjects {
    graph: Graph,
    cases: Vec<Case>,
    from: String,
}

fn subjects() -> Vec<Subjects> {
    let mut all = vec![];
    for path in files() {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        for graph in module.graphs {
            let mine = |case: &&Case| case.subject == Subject::Graph(graph.name.clone());
            let cases: Vec<Case> = cases.iter().filter(mine).cloned().collect();
            let from = format!("{file}: {}", graph.name);
            let mut graph = graph;
            graph.name = format!("{file}_{}", graph.name);
            all.push(Subjects { graph, cases, from });
        }
    }
    all
}

#[test]
fn corpus() {
    let (mut kept, mut lacking) = (vec![], vec![]);
    for subject in subjects() {
        match Program::metal(std::slice::from_ref(&subject.graph)) {
            Ok(_) => kept.push(subject),
            // Metal has no f64; the error says so, and the file runs elsewhere.
            Err(ProgramError::Emit(error)) if error.to_string().contains("no f64") => lacking.push(subject.from),
            Err(error) => panic!("{}: {error}", subject.from),
        }
    }
    let graphs: Vec<Graph> = kept.iter().map(|s| s.graph.clone()).collect();
    let program = Program::metal(&graphs).expect("graphs that go one by one go together");
    let Some(library) = metal::build(&program.source, program.entries.iter().flat_map(|e| &e.kernels)) else { return };
    let (mut wrong, mut count) = (vec![], 0);
    for (subject, entry) in kept.iter().zip(&program.entries) {
        for case in &subject.cases {
            count += 1;
            let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let given: Vec<Option<u64>> = subject.graph.sizes.iter().map(|decl| value(&decl.name)).collect();
            let sizes = interp::graph::solve_sizes(&subject.graph, &given, &case.args).expect("sizes of a case");
            let complain = |what: String| format!("{}, \"{}\": {what}", subject.from, case.name);
            match library.run(entry, &sizes, &case.args) {
                Err(error) => wrong.push(complain(error)),
                Ok(found) => {
                    for (expect, found) in case.expect.iter().zip(&found) {
                        wrong.extend(devices::difference(&expect.value, found, expect.ulp).map(complain));
                    }
                }
            }
        }
    }
    println!("{count} cases; without f64 in Metal: {}", lacking.join(", "));
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
