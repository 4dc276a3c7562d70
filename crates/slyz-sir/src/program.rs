//! The program level: a function over arrays, and the module that holds programs and kernels.

use crate::choices::Precision;
use crate::code::{Body, Function, Id, largest_id};
use crate::kernel::Kernel;
use crate::names::Names;
use crate::size::{Size, SizeDecl, SizeVar};

/// Something a call must satisfy before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Require {
    /// The axis has a position.
    NonEmpty(Size),
    /// Both sizes are the same.
    Equal(Size, Size),
    /// The first is no larger than the second.
    AtMost(Size, Size),
}

impl Require {
    /// The sizes that it is about.
    pub fn sizes(&self) -> impl Iterator<Item = &Size> + Clone {
        let (first, second) = match self {
            Require::NonEmpty(a) => (a, None),
            Require::Equal(a, b) | Require::AtMost(a, b) => (a, Some(b)),
        };
        std::iter::once(first).chain(second)
    }

    /// Is it satisfied where sizes have these values?
    pub fn holds<E>(&self, value: impl Fn(&Size) -> Result<u64, E>) -> Result<bool, E> {
        Ok(match self {
            Require::NonEmpty(a) => value(a)? > 0,
            Require::Equal(a, b) => value(a)? == value(b)?,
            Require::AtMost(a, b) => value(a)? <= value(b)?,
        })
    }
}

/// A function over arrays and scalars.
///
/// The parameters of the body are the arguments, its results are the results; each is a scalar or an array.
/// An array parameter's shape is made of sizes of the call; every other name has the type its operation gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// An identifier.
    pub name: String,
    /// The size variables.
    pub sizes: Vec<SizeDecl>,
    /// Shared scalar functions; a function calls only functions before it.
    pub functions: Vec<Function>,
    /// What a call must satisfy.
    pub requires: Vec<Require>,
    /// How precise it was asked to be; where nothing was said, the device decides.
    pub precision: Option<Precision>,
    /// What people called its parameters.
    pub names: Names,
    /// The code.
    pub body: Body,
}

/// What a `.sir` file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Programs, by unique names.
    pub programs: Vec<Program>,
    /// Kernels, by unique names.
    pub kernels: Vec<Kernel>,
}

impl Program {
    /// The name of a size variable.
    pub fn size_name(&self, var: SizeVar) -> String {
        self.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |s| s.name.clone())
    }

    /// A source of names that no code of the program uses.
    pub fn fresh_ids(&self) -> impl FnMut() -> Id + use<> {
        let bodies = self.functions.iter().map(|f| &f.body).chain([&self.body]);
        let mut next = bodies.map(largest_id).max().unwrap_or(0);
        move || {
            next += 1;
            Id(next)
        }
    }
}
