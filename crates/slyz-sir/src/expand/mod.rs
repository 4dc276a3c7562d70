//! Operators made of simpler ones: what a target without mathematics of its own, or with imprecise mathematics, runs instead.
//!
//! Each expansion is a SIR function within the precision that the table asks for. It uses arithmetic, comparisons, bits, square
//! roots and other expanded operators, and no integers of more than 32 bits, so that every GPU can run it. The tests hold the
//! expansions to the table in the interpreter.
//!
//! What is not here: `f64`, apart from the operators that are exact.

mod convert;
mod explog;
mod sheet;
mod trigonometry;
mod whole;

use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;
use sheet::{E, function};

pub use convert::{nearest_f32, odd_f32, odd_f32_of_words, pack_f16, round_bf16, round_f16, unpack_f16};
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
    let unary = |f: fn(E<'_>) -> E<'_>| Some(function(&name(operator, ty), &[ty], |x| vec![f(x[0])]));
    let binary =
        |f: for<'a> fn(E<'a>, E<'a>) -> E<'a>| Some(function(&name(operator, ty), &[ty, ty], |x| vec![f(x[0], x[1])]));
    match (operator, ty) {
        (Operator::Round, Ty::F32 | Ty::F64) => unary(whole::round),
        (Operator::Rsqrt, Ty::F32 | Ty::F64) => unary(|x| 1.0 / x.sqrt()),
        (_, Ty::F64) => None,
        (Operator::Rem, Ty::F32) => binary(whole::rem),
        (Operator::Exp, Ty::F32) => unary(explog::exp),
        (Operator::Exp2, Ty::F32) => unary(explog::exp2),
        (Operator::Expm1, Ty::F32) => unary(explog::expm1),
        (Operator::Ln, Ty::F32) => unary(explog::ln),
        (Operator::Log2, Ty::F32) => unary(explog::log2),
        (Operator::Log10, Ty::F32) => unary(explog::log10),
        (Operator::Ln1p, Ty::F32) => unary(explog::ln_1p),
        (Operator::Pow, Ty::F32) => binary(explog::pow),
        (Operator::Powi, Ty::F32) => {
            Some(function(&name(operator, ty), &[ty, Ty::I32], |x| vec![explog::powi(x[0], x[1])]))
        }
        (Operator::Cbrt, Ty::F32) => unary(explog::cbrt),
        (Operator::Hypot, Ty::F32) => binary(explog::hypot),
        (Operator::Sinh, Ty::F32) => unary(explog::sinh),
        (Operator::Cosh, Ty::F32) => unary(explog::cosh),
        (Operator::Tanh, Ty::F32) => unary(explog::tanh),
        (Operator::Erf, Ty::F32) => unary(explog::erf),
        (Operator::Sin, Ty::F32) => unary(trigonometry::sin),
        (Operator::Cos, Ty::F32) => unary(trigonometry::cos),
        (Operator::Tan, Ty::F32) => unary(trigonometry::tan),
        (Operator::Asin, Ty::F32) => unary(trigonometry::asin),
        (Operator::Acos, Ty::F32) => unary(trigonometry::acos),
        (Operator::Atan, Ty::F32) => unary(trigonometry::atan),
        (Operator::Atan2, Ty::F32) => binary(trigonometry::atan2),
        _ => None,
    }
}

fn name(operator: Operator, ty: Ty) -> String {
    format!("{}_{ty}", operator.name())
}
