//! The rules of programs: requirements, and sizes that are counted while the program runs.
//!
//! A `Counted` variable is counted by at most one filter of the program's own body and used only after it. A requirement
//! may mention it all the same: it is checked as soon as the filter is done. A variable that nothing mentions needs no
//! filter, so that a filter nobody uses can go while the numbers of the variables stay.

use super::code::{Checker, Level};
use super::{Checked, fail, identifier, size};
use crate::program::{Program, Require};
use crate::size::{Size, SizeVar};

/// Checks a program.
pub fn program(program: &Program) -> Checked {
    check(program).map_err(|e| e.within(format!("program `{}`", program.name)))
}

fn check(program: &Program) -> Checked {
    identifier("program", &program.name)?;
    for require in &program.requires {
        match require {
            Require::NonEmpty(a) => size(a, &program.sizes)?,
            Require::Equal(a, b) | Require::AtMost(a, b) => {
                size(a, &program.sizes)?;
                size(b, &program.sizes)?;
            }
        }
    }
    let mut checker = Checker::new(&program.functions, &[], &program.sizes);
    checker.run(&program.body, Level::Program)?;
    match checker.uncounted().find(|var| program.requires.iter().any(|require| mentions(require, *var))) {
        Some(var) => {
            fail(format!("a requirement mentions the size `{}`, which no filter counts", program.size_name(var)))
        }
        None => Ok(()),
    }
}

fn mentions(require: &Require, var: SizeVar) -> bool {
    let mut found = false;
    let mut look = |size: &Size| size.each_var(&mut |v| found |= v == var);
    match require {
        Require::NonEmpty(a) => look(a),
        Require::Equal(a, b) | Require::AtMost(a, b) => [a, b].into_iter().for_each(look),
    }
    found
}
