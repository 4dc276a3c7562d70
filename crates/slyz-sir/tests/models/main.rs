//! Programs of the corpus as models: OpenVINO runs them and must find what the interpreter finds, coremltools loads them, checks them, and
//! computes what it can. Which programs have become models, and why the others have not, stands in `corpus.txt`; `BLESS=1` rewrites it.
//!
//! How programs become graphs is also tried on random ones, whose graphs are computed here (`meaning.rs`).
//!
//! A program is a model twice: with dynamic extents and native precision, and with the extents of its first case that is not empty and
//! the precision of the table.

mod meaning;
#[path = "../random/mod.rs"]
#[allow(dead_code, unused_imports)]
mod random;

use slyz_sir::back::graph::{self, Format};
use slyz_sir::back::harness::{Emitted, Options, Target, emit_with};
use slyz_sir::choices::Precision;
use slyz_sir::interp::{self, Value, program::solve_sizes};
use slyz_sir::pass::Selection;
use slyz_sir::program::Program;
use slyz_sir::text::{Case, Subject, parse_file};
use slyz_sir::types::Ty;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Elements of a case that is run; larger ones take long and show nothing more.
const MOST: usize = 4_000;

const TARGETS: [(Target, &str); 2] = [(Target::OpenVino, "openvino"), (Target::CoreMl, "coreml")];

/// A program with the case that it is run on.
struct Example {
    file: String,
    program: Program,
    case: Case,
}

fn files() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("../../tests/corpus"), here.join("tests/models")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of programs"));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "sir")).collect();
    files.sort_by_key(|path| path.file_name().map(|name| name.to_os_string()));
    files
}

fn elements(value: &Value) -> usize {
    match value {
        Value::Scalar(_) => 1,
        Value::Array(array) => array.data.len(),
    }
}

fn examples() -> Vec<Example> {
    let mut examples = vec![];
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_string();
        for program in module.programs {
            let subject = Subject::Program(program.name.clone());
            let size = |case: &&Case| case.args.iter().map(elements).sum::<usize>();
            let mine = || cases.iter().filter(|case| case.subject == subject);
            let full = |case: &&Case| {
                let mut values = case.args.iter().chain(case.expect.iter().map(|expect| &expect.value));
                values.all(|value| elements(value) > 0) && size(case) <= MOST
            };
            if let Some(case) = mine().find(full).or_else(|| mine().next()) {
                examples.push(Example { file: file.clone(), program, case: case.clone() });
            }
        }
    }
    examples
}

impl Example {
    fn id(&self) -> String {
        format!("{} {}", self.file, self.program.name)
    }

    /// The extents of the case.
    fn sizes(&self) -> Vec<(String, u64)> {
        let named = |name: &str| self.case.sizes.iter().find(|(known, _)| known == name).map(|(_, size)| *size);
        let given: Vec<Option<u64>> = self.program.sizes.iter().map(|size| named(&size.name)).collect();
        let solved = solve_sizes(&self.program, &given, &self.case.args).unwrap_or(given);
        let known = self.program.sizes.iter().zip(solved);
        known.filter_map(|(size, value)| Some((size.name.clone(), value?))).collect()
    }

    /// The files of a target: with dynamic extents, or with known ones.
    fn emit(&self, target: Target, known: bool) -> Result<Emitted, String> {
        let sizes = if known { self.sizes() } else { vec![] };
        let precision = if known { Precision::Table } else { Precision::Native };
        let options = Options { sizes, precision, ..Options::default() };
        emit_with(std::slice::from_ref(&self.program), target, &options).map_err(|error| {
            let program = format!("program `{}`: ", self.program.name);
            format!("no: {}", error.to_string().trim_start_matches(&program))
        })
    }
}

/// An array as a file of its bytes and a line that describes it.
fn put(folder: &Path, name: &str, value: &Value) -> String {
    let (ty, shape, data): (Ty, &[u64], &[u64]) = match value {
        Value::Scalar(scalar) => (scalar.ty, &[], std::slice::from_ref(&scalar.bits)),
        Value::Array(array) => (array.ty, &array.shape, &array.data),
    };
    let bytes: Vec<u8> = data.iter().flat_map(|bits| bits.to_le_bytes()[..ty.bytes()].to_vec()).collect();
    std::fs::write(folder.join(name), bytes).expect("a file of a case");
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{name} {ty} {}", if shape.is_empty() { "-".to_string() } else { shape.join(",") })
}

/// Writes a model with its case; what the script reads of it.
fn write(folder: &Path, target: &str, number: usize, example: &Example, emitted: &Emitted) -> String {
    let mut list = String::new();
    for file in &emitted.files {
        let path = folder.join(format!("{number}")).join(&file.name);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder of a model");
        std::fs::write(path, file.bytes()).expect("a file of a model");
    }
    let main = emitted.files[0].name.split('/').next().unwrap_or_default();
    let _ = writeln!(list, "model {target} {number}/{main}");
    for (k, arg) in example.case.args.iter().enumerate() {
        let _ = writeln!(list, "input {}", put(folder, &format!("{number}-in{k}"), arg));
    }
    for (k, expect) in example.case.expect.iter().enumerate() {
        let _ = writeln!(list, "expect {}", put(folder, &format!("{number}-out{k}"), &expect.value));
    }
    list
}

/// Integers past 32 bits and NaNs come out as the machine has it, so where they differ is not written down.
const MAY_DIFFER: &str = "may differ";

/// What is written down of an answer.
fn told(answer: &str) -> String {
    match answer.split([':', ';']).next() {
        Some("differs") => {
            println!("{answer}");
            MAY_DIFFER.to_string()
        }
        Some("loads") => "loads".to_string(),
        _ => answer.to_string(),
    }
}

/// Does a line say what was known? What may differ may be right, too.
fn agree(known: &str, found: &str) -> bool {
    let right = |line: &str| line.replace(MAY_DIFFER, "ok");
    known == found || known.ends_with(MAY_DIFFER) && right(known) == found
}

#[test]
fn corpus() {
    let Some(python) = slyz_trials::models() else { return };
    let folder = std::env::temp_dir().join(format!("slyz-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let examples = examples();
    let mut said: BTreeMap<(usize, usize, bool), String> = BTreeMap::new();
    let mut list = String::new();
    let mut waiting = vec![];
    for (k, example) in examples.iter().enumerate() {
        for (t, (target, name)) in TARGETS.iter().enumerate() {
            for known in [false, true] {
                match example.emit(*target, known) {
                    Ok(emitted) => {
                        list += &write(&folder, name, waiting.len(), example, &emitted);
                        waiting.push((k, t, known));
                    }
                    Err(error) => drop(said.insert((k, t, known), error)),
                }
            }
        }
    }
    std::fs::write(folder.join("list"), list).expect("the list of models");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/check.py");
    let run = std::process::Command::new(python).arg(script).arg(&folder).output().expect("Python starts");
    let found = String::from_utf8_lossy(&run.stdout);
    let answers: Vec<&str> = found.lines().filter_map(|line| line.strip_prefix("= ")).collect();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(answers.len(), waiting.len(), "{found}\n{errors}");
    said.extend(waiting.into_iter().zip(answers.into_iter().map(told)));
    if std::env::var_os("SLYZ_MODELS_VERBOSE").is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }

    let mut text = String::new();
    for (k, example) in examples.iter().enumerate() {
        let _ = writeln!(text, "{}", example.id());
        for (t, (_, name)) in TARGETS.iter().enumerate() {
            let dynamic = &said[&(k, t, false)];
            let known = &said[&(k, t, true)];
            let _ = writeln!(text, "  {name}: {dynamic}");
            let _ = writeln!(text, "  {name}, extents given: {known}");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/corpus.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = |text: &str| -> Vec<String> { text.lines().map(String::from).collect() };
    let (known, found) = (lines(&known), lines(&text));
    let differs: Vec<_> = known.iter().zip(&found).filter(|(known, found)| !agree(known, found)).collect();
    let same = known.len() == found.len() && differs.is_empty();
    assert!(same, "{} differs; BLESS=1 rewrites it\n{differs:#?}", path.display());
}

/// Sums under windows are the format's own convolution, with weights that are arguments.
#[test]
fn convolutions() {
    // In a model of Core ML the operation's name stands behind its tag and its length.
    let words: [(Target, &[u8]); 2] = [(Target::OpenVino, b"type=\"Convolution\""), (Target::CoreMl, b"\x0a\x04conv")];
    let convolved = |example: &Example| matches!(example.program.name.as_str(), "convolve" | "channels");
    let examples: Vec<Example> = examples().into_iter().filter(convolved).collect();
    assert_eq!(examples.len(), 2, "convolution.sir and covered.sir have one each");
    for example in &examples {
        for (target, word) in words {
            let emitted = example.emit(target, true).expect("it is a model");
            let found = emitted.files.iter().any(|file| file.bytes().windows(word.len()).any(|part| part == word));
            assert!(found, "{target:?}: {} has no convolution", example.id());
        }
    }
}

/// A format that has everything, so that all that is tried is how programs are lifted.
const WHOLE: Format = Format {
    name: "whole",
    has: |_, _| true,
    has_type: |_| true,
    convolves: true,
    most_axes: usize::MAX,
    precision: Precision::Table,
};

/// Random programs mean as graphs what they mean, with extents that are given and with those of their arguments.
#[test]
fn random_graphs() {
    let mut tried = 0;
    let mut all = 0;
    for seed in slyz_trials::trials("random_graphs", 100) {
        let case = random::exact_case(seed, 40);
        let Ok(expected) = interp::program::run(&case.program, &case.sizes, &case.args) else { continue };
        let named = case.program.sizes.iter().zip(&case.sizes);
        let sizes: Vec<(String, u64)> =
            named.filter_map(|(size, value)| Some((size.name.clone(), (*value)?))).collect();
        for sizes in [&[][..], &sizes] {
            all += 1;
            let Ok(graph) = graph::of_program(&case.program, sizes, &Selection::All, &WHOLE) else { continue };
            tried += 1;
            let text = || random::as_corpus_file(&case, &expected, &format!("Random program {seed}, {sizes:?}"));
            match meaning::run(&graph, &case.args) {
                Ok(found) => assert!(random::agree(&expected, &found), "{expected:?}\n{found:?}\n{}", text()),
                Err(why) => panic!("{why}\n{}", text()),
            }
        }
    }
    println!("{tried} of {all} are graphs");
}
