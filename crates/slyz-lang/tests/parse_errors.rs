//! What the parser says about files that are wrong: `tests/parse_errors/*.vex`, with the text beside each.

mod golden;

use slyz_lang::{parse::parse, render::render};

#[test]
fn errors_are_as_reviewed() {
    golden::compare(&golden::files("parse_errors"), |name, text| {
        let (_, diagnostics) = parse(text);
        assert!(!diagnostics.is_empty(), "{name} is fine");
        render(name, text, &diagnostics)
    });
}
