//! Sizes that are given: numbers in place of variables, so that extents are static.

use crate::program::Program;
use crate::size::{Size, SizeVar};

/// The program with numbers in place of the size variables that are given.
pub fn with_sizes(program: &Program, given: &[(String, u64)]) -> Program {
    let mut program = program.clone();
    let of = |name: &str| given.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let values: Vec<Option<u64>> = program.sizes.iter().map(|size| of(&size.name)).collect();
    if values.iter().any(Option::is_some) {
        program.body.each_size_mut(&mut |size| *size = put(size, &values));
        // What a call must satisfy is the caller's to know.
        program.requires.clear();
    }
    program
}

fn put(size: &Size, values: &[Option<u64>]) -> Size {
    let of = |var: SizeVar| values.get(var.0 as usize).copied().flatten();
    if let Ok(number) = size.eval(&of) {
        return Size::Const(number);
    }
    let inner = |size: &Size| Box::new(put(size, values));
    match size {
        Size::Const(_) | Size::Var(_) => size.clone(),
        Size::Add(a, b) => Size::Add(inner(a), inner(b)),
        Size::Mul(a, b) => Size::Mul(inner(a), inner(b)),
        Size::Min(a, b) => Size::Min(inner(a), inner(b)),
        Size::CeilDiv(a, n) => Size::CeilDiv(inner(a), *n),
        Size::Tri(a) => Size::Tri(inner(a)),
    }
}
