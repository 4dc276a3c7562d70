//! Programs of the corpus as models: OpenVINO runs them and must find what the interpreter finds, coremltools loads them, checks them, and
//! computes what it can. Which programs have become models, and why the others have not, stands in `corpus.txt`; `BLESS=1` rewrites it.
//!
//! A program is a model with dynamic extents where it can be, else with those of its first case that is not empty.

use slyz_sir::back::graph::GraphError;
use slyz_sir::back::harness::{Emitted, Options, ProjectError, Target, emit_with};
use slyz_sir::interp::{Value, program::solve_sizes};
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
            let full =
                |case: &&Case| case.expect.iter().all(|expect| elements(&expect.value) > 0) && size(case) <= MOST;
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

    /// The files of a target, and whether extents had to be given.
    fn emit(&self, target: Target) -> Result<(Emitted, bool), ProjectError> {
        let programs = std::slice::from_ref(&self.program);
        let dynamic = emit_with(programs, target, &Options::default());
        let Err(ProjectError::Graph(GraphError::Untold { .. } | GraphError::Open { .. })) = dynamic else {
            return dynamic.map(|emitted| (emitted, false));
        };
        let named = |name: &str| self.case.sizes.iter().find(|(known, _)| known == name).map(|(_, size)| *size);
        let given: Vec<Option<u64>> = self.program.sizes.iter().map(|size| named(&size.name)).collect();
        let solved = solve_sizes(&self.program, &given, &self.case.args).unwrap_or(given);
        let known = self.program.sizes.iter().zip(solved);
        let sizes = known.filter_map(|(size, value)| Some((size.name.clone(), value?))).collect();
        Ok((emit_with(programs, target, &Options { sizes, ..Options::default() })?, true))
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

#[test]
fn corpus() {
    let Some(python) = slyz_trials::models() else { return };
    let folder = std::env::temp_dir().join(format!("slyz-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let examples = examples();
    let mut said: BTreeMap<(usize, usize), String> = BTreeMap::new();
    let mut list = String::new();
    let mut waiting = vec![];
    for (k, example) in examples.iter().enumerate() {
        for (t, (target, name)) in TARGETS.iter().enumerate() {
            match example.emit(*target) {
                Ok((emitted, sized)) => {
                    list += &write(&folder, name, waiting.len(), example, &emitted);
                    waiting.push((k, t, sized));
                }
                Err(error) => {
                    let error = error.to_string();
                    let program = format!("program `{}`: ", example.program.name);
                    said.insert((k, t), format!("no: {}", error.trim_start_matches(&program)));
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
    for ((k, t, sized), answer) in waiting.into_iter().zip(answers) {
        let sized = if sized { ", with its extents given" } else { "" };
        said.insert((k, t), format!("{answer}{sized}"));
    }
    let _ = std::fs::remove_dir_all(&folder);

    let mut text = String::new();
    for (k, example) in examples.iter().enumerate() {
        let _ = writeln!(text, "{}", example.id());
        for (t, (_, name)) in TARGETS.iter().enumerate() {
            let _ = writeln!(text, "  {name}: {}", said[&(k, t)]);
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/corpus.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let differs: Vec<(&str, &str)> = known.lines().zip(text.lines()).filter(|(a, b)| a != b).collect();
    assert!(known == text, "{} differs; BLESS=1 rewrites it\n{differs:#?}", path.display());
}
