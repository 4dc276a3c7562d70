//! Operators made of simpler ones: what a target without mathematics of its own, or with imprecise mathematics, runs instead.
//!
//! Each expansion is a SIR function within the precision that the table asks for. It uses arithmetic, comparisons, bits, square
//! roots and other expanded operators, and no integers wider than its floats, so that every GPU with the type can run it (`f64`
//! needs 64-bit integers). The tests hold the expansions to the table in the interpreter.
//!
//! Where `f32` and `f64` have the same algorithm it is written once: `E::either` picks the constants, `E::layout` knows the bits.

mod calls;
mod convert;
mod error;
mod exponential;
mod gamma;
mod held;
mod logarithm;
mod parts;
mod quotient;
mod root;
mod sheet;
mod trigonometry;
mod whole;

use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;
use sheet::{E, function_by};

pub use calls::as_calls;
pub use convert::{nearest_f32, odd_f32, odd_f32_of_words, pack_f16, round_bf16, round_f16, unpack_f16};
pub use held::float_atomics;
pub(crate) use held::{Held, held};
pub(crate) use parts::{Part, Vectors, parts};
pub use quotient::{exact_quotient, exact_reciprocal, exact_root};
pub use whole::{fma_by_f64, fma_by_words};

/// The operator on a type as a function of simpler operators.
///
/// ```
/// use slyz_sir::{expand, ops::Operator, types::Ty};
/// let function = expand::operator(Operator::Erf, Ty::F32).expect("an expansion");
/// assert_eq!(function.name, "erf_f32");
/// assert!(expand::operator(Operator::Add, Ty::F32).is_none());
/// ```
pub fn operator(operator: Operator, ty: Ty) -> Option<Function> {
    operator_by(Means::default(), operator, ty)
}

/// What a target does well, where that decides between ways to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Means {
    /// It has `fma` with one rounding at the price of a multiplication, and threads that take a rare branch cost the others
    /// little: a GPU. Otherwise both sides of a choice are computed, which vectors like better.
    pub fused: bool,
    /// It has no `fma` with one rounding at all, and nobody asks for its last bit: where a product must not round, two floats hold it. Its compiler may
    /// not know of NaNs: they are taken care of last.
    pub paired: bool,
    /// It is a CPU with vectors: what is rare is mended apart where any lane has it, subnormal numbers are numbers, and what operators share is called.
    pub lanes: bool,
}

/// The same, by the means of a target.
pub fn operator_by(means: Means, operator: Operator, ty: Ty) -> Option<Function> {
    let name = name(operator, ty);
    if !matches!(ty, Ty::F32 | Ty::F64) {
        return None;
    }
    let rows = TABLES.iter().copied().flatten();
    let (_, expansion) = rows.copied().find(|(expanded, _)| *expanded == operator)?;
    Some(function_by(means, &name, &expansion.params(ty), |x| {
        let y = expansion.of(x);
        let mended = means.paired && matches!(expansion, Expansion::Unary(_));
        vec![if mended { y.replaced(x[0].is_nan(), x[0]) } else { y }]
    }))
}

/// An algorithm, by the operands it takes.
#[derive(Clone, Copy)]
enum Expansion {
    Unary(for<'a> fn(E<'a>) -> E<'a>),
    Binary(for<'a> fn(E<'a>, E<'a>) -> E<'a>),
    /// The second operand is an `i32`.
    WholePower(for<'a> fn(E<'a>, E<'a>) -> E<'a>),
}

impl Expansion {
    /// The types of its operands.
    fn params(self, ty: Ty) -> Vec<Ty> {
        match self {
            Expansion::Unary(_) => vec![ty],
            Expansion::Binary(_) => vec![ty, ty],
            Expansion::WholePower(_) => vec![ty, Ty::I32],
        }
    }

    fn of<'a>(self, x: &[E<'a>]) -> E<'a> {
        match self {
            Expansion::Unary(f) => f(x[0]),
            Expansion::Binary(f) | Expansion::WholePower(f) => f(x[0], x[1]),
        }
    }
}

/// The operators of a file with their algorithms.
type Table = &'static [(Operator, Expansion)];

/// Each file lists its own.
const TABLES: [Table; 7] =
    [error::TABLE, exponential::TABLE, gamma::TABLE, logarithm::TABLE, root::TABLE, trigonometry::TABLE, whole::TABLE];

fn name(operator: Operator, ty: Ty) -> String {
    format!("{}_{ty}", operator.name())
}
