//! Symbolic sizes: the extents of axes, known at the call.
//!
//! A size is a small expression over the size variables of its program or kernel. Evaluation never wraps:
//! a size past the index type (`i64`) is an error.

use std::fmt;

/// A size variable, counted in the declarations of its program or kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeVar(pub u32);

/// How a size variable gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeOrigin {
    /// Solved from the arguments of the call, or given by the caller.
    Given,
    /// Counted while the program runs, by a `filter`.
    Counted,
}

/// A declared size variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SizeDecl {
    /// The name in text and messages; an identifier, unique in its program.
    pub name: String,
    /// How it gets its value.
    pub origin: SizeOrigin,
}

/// The extent of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// A fixed extent.
    Const(u64),
    /// A variable.
    Var(SizeVar),
    /// The sum of two sizes.
    Add(Box<Size>, Box<Size>),
    /// The product of two sizes.
    Mul(Box<Size>, Box<Size>),
    /// The smaller of two sizes.
    Min(Box<Size>, Box<Size>),
    /// The number of parts of at most that many elements: rounds up. The divisor is at least 1.
    CeilDiv(Box<Size>, u64),
    /// The cells of a packed triangle with that many rows: `n(n+1)/2`.
    Tri(Box<Size>),
}

/// Why a size has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// A variable has no value yet.
    #[error("the size variable number {} has no value", .0.0)]
    Unknown(SizeVar),
    /// The value does not fit the index type.
    #[error("a size is larger than the index type, 2^63 - 1")]
    Overflow,
}

impl Size {
    /// The product of many sizes; `1` for none. Constants are multiplied out.
    pub fn product(sizes: &[Size]) -> Size {
        sizes.iter().cloned().reduce(|a, b| a * b).unwrap_or(Size::Const(1))
    }

    /// The value under an assignment of the variables.
    pub fn eval(&self, env: &dyn Fn(SizeVar) -> Option<u64>) -> Result<u64, SizeError> {
        let value = match self {
            Size::Const(n) => Some(*n),
            Size::Var(v) => Some(env(*v).ok_or(SizeError::Unknown(*v))?),
            Size::Add(a, b) => a.eval(env)?.checked_add(b.eval(env)?),
            Size::Mul(a, b) => match (a.eval(env)?, b.eval(env)?) {
                (0, _) | (_, 0) => Some(0),
                (a, b) => a.checked_mul(b),
            },
            Size::Min(a, b) => Some(a.eval(env)?.min(b.eval(env)?)),
            Size::CeilDiv(a, n) => Some(a.eval(env)?.div_ceil((*n).max(1))),
            Size::Tri(a) => {
                let n = a.eval(env)? as u128;
                u64::try_from(n * (n + 1) / 2).ok()
            }
        };
        value.filter(|&n| n <= i64::MAX as u64).ok_or(SizeError::Overflow)
    }

    /// The value, if it is the same in every call.
    pub fn constant(&self) -> Option<u64> {
        self.eval(&|_| None).ok()
    }

    /// Calls `f` for every variable in the expression.
    pub fn each_var(&self, f: &mut dyn FnMut(SizeVar)) {
        match self {
            Size::Const(_) => {}
            Size::Var(v) => f(*v),
            Size::Add(a, b) | Size::Mul(a, b) | Size::Min(a, b) => {
                a.each_var(f);
                b.each_var(f);
            }
            Size::CeilDiv(a, _) | Size::Tri(a) => a.each_var(f),
        }
    }

    /// The same expression over other variables.
    pub fn renamed(&self, f: &mut dyn FnMut(SizeVar) -> SizeVar) -> Size {
        match self {
            Size::Const(n) => Size::Const(*n),
            Size::Var(v) => Size::Var(f(*v)),
            Size::Add(a, b) => Size::Add(a.renamed(f).into(), b.renamed(f).into()),
            Size::Mul(a, b) => Size::Mul(a.renamed(f).into(), b.renamed(f).into()),
            Size::Min(a, b) => Size::Min(a.renamed(f).into(), b.renamed(f).into()),
            Size::CeilDiv(a, n) => Size::CeilDiv(a.renamed(f).into(), *n),
            Size::Tri(a) => Size::Tri(a.renamed(f).into()),
        }
    }

    /// The expression in SIR text, with variables spelled by `name`.
    pub fn display<'a>(&'a self, name: &'a dyn Fn(SizeVar) -> String) -> impl fmt::Display + 'a {
        Shown { size: self, name }
    }
}

impl std::ops::Add for Size {
    type Output = Size;
    fn add(self, other: Size) -> Size {
        match (&self, &other) {
            (Size::Const(0), _) => other,
            (_, Size::Const(0)) => self,
            (Size::Const(a), Size::Const(b)) if a.checked_add(*b).is_some() => Size::Const(a + b),
            _ => Size::Add(self.into(), other.into()),
        }
    }
}

impl std::ops::Mul for Size {
    type Output = Size;
    fn mul(self, other: Size) -> Size {
        match (&self, &other) {
            (Size::Const(1), _) => other,
            (_, Size::Const(1)) => self,
            (Size::Const(a), Size::Const(b)) if a.checked_mul(*b).is_some() => Size::Const(a * b),
            _ => Size::Mul(self.into(), other.into()),
        }
    }
}

struct Shown<'a> {
    size: &'a Size,
    name: &'a dyn Fn(SizeVar) -> String,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = self.name;
        match self.size {
            Size::Const(n) => write!(f, "{n}"),
            Size::Var(v) => f.write_str(&name(*v)),
            Size::Add(a, b) => write!(f, "({} + {})", a.display(name), b.display(name)),
            Size::Mul(a, b) => write!(f, "({} * {})", a.display(name), b.display(name)),
            Size::Min(a, b) => write!(f, "min({}, {})", a.display(name), b.display(name)),
            Size::CeilDiv(a, n) => write!(f, "ceil({} / {n})", a.display(name)),
            Size::Tri(a) => write!(f, "tri({})", a.display(name)),
        }
    }
}
