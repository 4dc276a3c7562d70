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
