//! Host parts of files: `tests/host/*.vex`, with what they print and what ends them beside each.

use crate::golden;
use crate::program::run;
use slyz_lang::render::render;

#[test]
fn runs_are_as_reviewed() {
    golden::compare(&golden::files("host"), |name, text| {
        let ran = run(text);
        ran.printed + &render(name, text, &ran.diagnostics)
    });
}

#[test]
fn recursion_ends_before_the_stack_does() {
    for text in [
        "fn f(n: i64): i64 { return f(n + 1) }\nprint(f(0))",
        "fn f(n: i64): i64 { return if n > 0 { 1 + (2 * (3 + f(n + 1))) } else { f(1) } }\nprint(f(0))",
        "fn f(t: Tensor<f32>!) { for i in 0..1 { while true { if true { f(&!t) } } } }\nlet! t = Tensor.zeros<f32>(1)\nf(&!t)",
    ] {
        let ran = run(text);
        assert_eq!(ran.diagnostics[0].rule, "recursion-depth", "{text}");
    }
    let ran = run("fn f(n: i64): i64 { if n == 0 { return 0 }\n return 1 + f(n - 1) }\nprint(f(90))");
    assert_eq!(ran.printed, "90\n");
}
