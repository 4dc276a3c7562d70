//! Small programs and the SIR that a person would write for them.

use crate::run::lowered;
use crate::tree::*;
use slyz_lang::typed::*;

fn text(body: Vec<Stmt>, locals: usize) -> String {
    let program = Program { functions: vec![kernel(body, locals)] };
    let text = lowered(&program, FunctionId(0)).kernel.to_string();
    // Between the memories and the end.
    let start = text.find("out_len]\n").unwrap() + "out_len]\n".len();
    text[start..].strip_suffix("}\n").unwrap().to_string()
}

#[track_caller]
fn gives(body: Vec<Stmt>, locals: usize, expected: &str) {
    let found = text(body, locals);
    assert_eq!(found.trim(), expected.trim(), "found:\n{found}");
}

#[test]
fn an_early_return_guards_the_rest() {
    gives(
        vec![when(lt(var(0), int(3)), vec![Stmt::Return(None)]), store(1, int(0), var(0)), Stmt::Return(None)],
        1,
        "
  %1: i64 = const 3
  %2: bool = lt %0, %1
  if %2 {} else {
    %3: i64 = const 0
    %4: bool = check out[%3]
    if %4 { store out[%3], %0 } else {}
  }",
    );
}
