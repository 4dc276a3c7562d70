//! What the checker says: `tests/check_errors/RULE.vex` or `RULE_MORE.vex`, with the text beside each. Every rule has one.

mod golden;

use slyz_lang::check::{Dialect, check, rules::RULES};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::{parse::parse, render::render};

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let (file, mut found) = parse(text);
    let checked = check(&file, Dialect::Vex);
    let errors = checked.diagnostics.iter().any(Diagnostic::is_error);
    assert!(!errors || checked.program.functions.is_empty(), "a program in spite of errors");
    found.extend(checked.diagnostics);
    found.sort_by_key(|d| (d.span.start, d.span.end));
    found
}

#[test]
fn diagnostics_are_as_reviewed() {
    golden::compare(&golden::files("check_errors"), |name, text| {
        let found = diagnostics(text);
        let rule = name.trim_end_matches(".vex").split('_').next().unwrap_or_default();
        assert!(found.iter().any(|d| d.rule == rule), "{name} does not break its rule");
        render(name, text, &found)
    });
}

#[test]
fn every_rule_has_a_golden_and_its_severity() {
    let mut seen = std::collections::BTreeSet::new();
    for file in golden::files("check_errors") {
        let text = std::fs::read_to_string(&file).unwrap();
        for found in diagnostics(&text) {
            if let Some(rule) = RULES.iter().find(|rule| rule.name == found.rule) {
                assert_eq!(rule.severity, found.severity, "{}: {}", file.display(), found.message);
                seen.insert(rule.name);
            }
            assert!(found.help.is_some(), "{}: no remedy for {}", file.display(), found.message);
            assert!(found.span.start <= found.span.end && found.span.end as usize <= text.len());
        }
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let name = stem.split('_').next().unwrap_or_default();
        assert!(RULES.iter().any(|rule| rule.name == name), "{stem} is named after no rule");
    }
    let missing: Vec<&str> = RULES.iter().map(|rule| rule.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "rules without a golden: {missing:?}");
}
