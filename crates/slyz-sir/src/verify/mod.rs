//! Checks that SIR keeps its rules, so that everything after can trust it.
//!
//! The rules, one file each: `code` has those of both levels (names, scopes, types, which operation belongs where),
//! `program` those of counted sizes, `kernel` those of memory and threads, `plan` those of buffers. It says nothing about
//! values: reads outside an array, races and divergent barriers are for the interpreter to find.

mod code;
mod kernel;
mod plan;
mod program;

#[cfg(feature = "compiler")]
pub(crate) use kernel::matrix_product;
pub use kernel::{MAX_BLOCK, kernel};
pub use plan::plan;
pub use program::program;

use crate::nesting::TooDeep;
use crate::program::Module;
use crate::size::{Size, SizeDecl};
use std::collections::HashSet;
use std::fmt;

/// Names past this number are refused, so that tables indexed by name stay small.
pub const MAX_ID: u32 = 1 << 24;

/// A rule that is broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// From the outside in: the program or kernel, the operations around, the statement, each with the name it binds.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
}

impl VerifyError {
    /// An error whose place is not known yet.
    fn new(message: impl Into<String>) -> VerifyError {
        VerifyError { path: vec![], message: message.into() }
    }

    /// The same, one level further out.
    fn within(mut self, place: impl Into<String>) -> VerifyError {
        self.path.insert(0, place.into());
        self
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "in {}: ", self.path.join(", "))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for VerifyError {}

impl From<TooDeep> for VerifyError {
    fn from(error: TooDeep) -> VerifyError {
        VerifyError::new(error.to_string())
    }
}

type Checked = Result<(), VerifyError>;

fn fail<T>(message: impl Into<String>) -> Result<T, VerifyError> {
    Err(VerifyError::new(message))
}

/// Checks every program and kernel of a module, and that their names differ.
pub fn module(module: &Module) -> Checked {
    unique("program", module.programs.iter().map(|g| &g.name[..]))?;
    unique("kernel", module.kernels.iter().map(|k| &k.name[..]))?;
    module.programs.iter().try_for_each(program)?;
    module.kernels.iter().try_for_each(kernel)
}

/// Names that generated code can use as they are, each once.
fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Checked {
    let mut seen = HashSet::new();
    for name in names {
        identifier(what, name)?;
        if !seen.insert(name) {
            return fail(format!("two {what}s are called `{name}`"));
        }
    }
    Ok(())
}

fn identifier(what: &str, name: &str) -> Checked {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        Ok(())
    } else {
        fail(format!("the {what} name `{name}` is not an identifier"))
    }
}

/// A size is shallow, uses declared variables only, and divides by 1 or more.
fn size(size: &Size, decls: &[SizeDecl]) -> Checked {
    crate::nesting::check_size(size)?;
    let mut unknown = None;
    size.each_var(&mut |v| {
        if v.0 as usize >= decls.len() {
            unknown = Some(v);
        }
    });
    if let Some(v) = unknown {
        return fail(format!("the size variable number {} is not declared", v.0));
    }
    if divides_by_zero(size) { fail("a size is divided by 0") } else { Ok(()) }
}

fn divides_by_zero(size: &Size) -> bool {
    match size {
        Size::Const(_) | Size::Var(_) => false,
        Size::Add(a, b) | Size::Mul(a, b) | Size::Min(a, b) => divides_by_zero(a) || divides_by_zero(b),
        Size::CeilDiv(a, n) => *n == 0 || divides_by_zero(a),
        Size::Tri(a) => divides_by_zero(a),
    }
}
