//! From `.vex` text to SIR: goldens beside the programs in `tests/lower`, and of the kernels of the page. `BLESS=1` rewrites them.

use crate::run::lowered;
use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_lang::typed::{FunctionId, Program};
use std::path::Path;

/// The program of a text that is right.
pub fn program(name: &str, text: &str) -> Program {
    let (file, mut found) = parse(text);
    let checked = check(&file, Dialect::Vex);
    found.extend(checked.diagnostics);
    found.retain(Diagnostic::is_error);
    assert!(found.is_empty(), "{}", render(name, text, &found));
    checked.program
}

/// All kernels of a text.
pub fn kernels(name: &str, text: &str) -> String {
    let program = program(name, text);
    let launched = program.functions.iter().zip(0..).filter(|(function, _)| function.launches);
    let kernels: Vec<String> = launched.map(|(_, id)| lowered(&program, FunctionId(id)).kernel.to_string()).collect();
    kernels.join("\n")
}

fn goldens(programs: &str, beside: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut wrong = vec![];
    let mut count = 0;
    for entry in std::fs::read_dir(root.join(programs)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "vex") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // The 2-D launch of the page is host code only.
        if !text.contains("graph fn") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = kernels(&name, &text);
        let golden = root.join(beside).join(&name).with_extension("sir");
        if std::env::var("BLESS").is_ok() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{name} gives\n{found}\nbut {} says\n{expected}", golden.display()));
        }
    }
    assert!(count > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn constructs() {
    goldens("lower", "lower");
}

#[test]
fn kernels_of_the_page() {
    goldens("page", "lower/page");
}
