//! Kernels as people write them, about which there is nothing to say: `tests/check_fine/*.vex` and the page's own.

#[allow(dead_code)]
mod golden;

use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::{Diagnostic, Severity};
use slyz_lang::{lower::lower, parse::parse, render::render, typed::FunctionId};

#[test]
fn nothing_is_said_about_what_is_right() {
    for file in golden::files("check_fine").into_iter().chain(golden::files("page")) {
        let (name, text) = (file.display().to_string(), std::fs::read_to_string(&file).unwrap());
        let (tree, mut found) = parse(&text);
        let checked = check(&tree, Dialect::Vex);
        found.extend(checked.diagnostics);
        // The rule of `thread` is explained in programs that are right.
        let complaints: Vec<Diagnostic> = found.into_iter().filter(|d| d.severity != Severity::Note).collect();
        assert!(complaints.is_empty(), "{}", render(&name, &text, &complaints));
        for (k, _) in checked.program.functions.iter().enumerate().filter(|(_, f)| f.launches) {
            let template = lower(&checked.program, FunctionId(k as u32)).unwrap_or_else(|e| panic!("{name}: {e}"));
            slyz_sir::verify::kernel(&template.kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

/// Programs of the corpus run without races in the interpreter, so that none may be seen in them.
#[test]
fn no_race_is_seen_where_there_is_none() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus");
    let files = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let mut kernels = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "vex")) {
        let (name, text) = (file.display().to_string(), std::fs::read_to_string(&file).unwrap());
        let checked = check(&parse(&text).0, Dialect::Vex);
        kernels += checked.program.functions.iter().filter(|f| f.launches).count();
        let races = |d: &Diagnostic| ["missing-barrier", "possible-race"].contains(&d.rule);
        let complaints: Vec<Diagnostic> = checked.diagnostics.into_iter().filter(races).collect();
        assert!(complaints.is_empty(), "{}", render(&name, &text, &complaints));
    }
    assert!(kernels > 100, "{kernels} kernels");
}
