//! Symbolic sizes: the extents of axes, known at the call.
//!
//! A size is a small expression over the size variables of its program or kernel. Evaluation never wraps:
//! a size past the index type (`i64`) is an error.
//!
//! The variables are a type parameter, so that the front end's axes, which know no program yet, are sizes as well.

use std::fmt;

/// A size variable, counted in the declarations of its program or kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeVar(pub u32);

impl fmt::Display for SizeVar {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "number {}", self.0)
    }
}

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

/// The extent of an axis, an expression over variables `V`: those of a program or kernel, unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size<V = SizeVar> {
    /// A fixed extent.
    Const(u64),
    /// A variable.
    Var(V),
    /// The sum of two sizes.
    Add(Box<Size<V>>, Box<Size<V>>),
    /// The product of two sizes.
    Mul(Box<Size<V>>, Box<Size<V>>),
    /// The smaller of two sizes.
    Min(Box<Size<V>>, Box<Size<V>>),
    /// The number of parts of at most that many elements: rounds up. The divisor is at least 1.
    CeilDiv(Box<Size<V>>, u64),
    /// The cells of a packed triangle with that many rows: `n(n+1)/2`.
    Tri(Box<Size<V>>),
}

/// Why a size has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError<V = SizeVar> {
    /// A variable has no value yet.
    #[error("the size variable {0} has no value")]
    Unknown(V),
    /// The value does not fit the index type.
    #[error("a size is larger than the index type, 2^63 - 1")]
    Overflow,
}

impl<V: Copy> Size<V> {
    /// The product of many sizes; `1` for none. Constants are multiplied out.
    pub fn product(sizes: &[Size<V>]) -> Size<V> {
        sizes.iter().cloned().reduce(|a, b| a * b).unwrap_or(Size::Const(1))
    }

    /// The value under an assignment of the variables.
    pub fn eval(&self, env: &dyn Fn(V) -> Option<u64>) -> Result<u64, SizeError<V>> {
        let value = match self {
            Size::Const(n) => Some(*n),
            Size::Var(v) => Some(env(*v).ok_or(SizeError::Unknown(*v))?),
            Size::Add(a, b) => a.eval(env)?.checked_add(b.eval(env)?),
            Size::Mul(a, b) => a.eval(env)?.checked_mul(b.eval(env)?),
            Size::Min(a, b) => Some(a.eval(env)?.min(b.eval(env)?)),
            Size::CeilDiv(a, n) => Some(a.eval(env)?.div_ceil((*n).max(1))),
            Size::Tri(a) => u64::try_from(triangle(a.eval(env)?)).ok(),
        };
        value.filter(|&n| n <= i64::MAX as u64).ok_or(SizeError::Overflow)
    }

    /// The value, if it is the same in every call.
    pub fn constant(&self) -> Option<u64> {
        self.eval(&|_| None).ok()
    }

    /// The value of the single unknown variable that makes the size `total`, where that can be told. Roots are rounded, so whoever
    /// asks evaluates the size once more.
    pub fn solve(&self, env: &dyn Fn(V) -> Option<u64>, total: u64) -> Option<(V, u64)> {
        match self {
            Size::Const(_) => None,
            Size::Var(v) => Some((*v, total)),
            Size::Add(a, b) => {
                let (known, unknown) = known_and_unknown(a, b, env)?;
                unknown.solve(env, total.checked_sub(known)?)
            }
            Size::Mul(a, b) => {
                let (known, unknown) = known_and_unknown(a, b, env)?;
                let divides = known > 0 && total.is_multiple_of(known);
                if divides { unknown.solve(env, total / known) } else { None }
            }
            Size::Tri(a) => {
                let rows = ((8.0 * total as f64 + 1.0).sqrt() as u64 / 2).saturating_sub(2);
                let rows = (rows..rows + 5).find(|&n| triangle(n) == total.into())?;
                a.solve(env, rows)
            }
            // Many values give the same minimum, and the same number of parts.
            Size::Min(..) | Size::CeilDiv(..) => None,
        }
    }

    /// Calls `f` for every variable in the expression.
    pub fn each_var(&self, f: &mut dyn FnMut(V)) {
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
    pub fn renamed<W>(&self, f: &mut dyn FnMut(V) -> W) -> Size<W> {
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
    pub fn display<'a>(&'a self, name: &'a dyn Fn(V) -> String) -> impl fmt::Display + 'a {
        Shown { size: self, name }
    }
}

/// The cells of a triangle with that many rows.
fn triangle(rows: u64) -> u128 {
    let rows = u128::from(rows);
    rows * (rows + 1) / 2
}

/// Of two sizes the value of the one that has one, and the other.
fn known_and_unknown<'a, V: Copy>(
    a: &'a Size<V>,
    b: &'a Size<V>,
    env: &dyn Fn(V) -> Option<u64>,
) -> Option<(u64, &'a Size<V>)> {
    match (a.eval(env), b.eval(env)) {
        (Ok(known), Err(_)) => Some((known, b)),
        (Err(_), Ok(known)) => Some((known, a)),
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
    }
}

impl<V> std::ops::Add for Size<V> {
    type Output = Size<V>;
    fn add(self, other: Size<V>) -> Size<V> {
        match (&self, &other) {
            (Size::Const(0), _) => other,
            (_, Size::Const(0)) => self,
            (Size::Const(a), Size::Const(b)) if a.checked_add(*b).is_some() => Size::Const(a + b),
            _ => Size::Add(self.into(), other.into()),
        }
    }
}

impl<V> std::ops::Mul for Size<V> {
    type Output = Size<V>;
    fn mul(self, other: Size<V>) -> Size<V> {
        match (&self, &other) {
            (Size::Const(1), _) => other,
            (_, Size::Const(1)) => self,
            (Size::Const(a), Size::Const(b)) if a.checked_mul(*b).is_some() => Size::Const(a * b),
            _ => Size::Mul(self.into(), other.into()),
        }
    }
}

struct Shown<'a, V> {
    size: &'a Size<V>,
    name: &'a dyn Fn(V) -> String,
}

impl<V: Copy> fmt::Display for Shown<'_, V> {
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
