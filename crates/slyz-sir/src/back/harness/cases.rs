//! Inputs that the host text can make by itself, and what the interpreter makes of them.
//!
//! The text holds formulas, not data: element `i` of argument `k` is `(i(2k+1) + k) mod 97 + 1`, small enough to be exact
//! in every type. Where that is no right input (a position past its axis), zeros may be.

use crate::code::Type;
use crate::interp::program::{Options, run_with};
use crate::interp::{Array, Value};
use crate::kernel::Plan;
use crate::program::Program;
use crate::size::{Size, SizeOrigin};
use crate::types::{Scalar, Ty};

/// How arguments are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// By the formula.
    Ramp,
    /// All zero.
    Zeros,
}

/// A call of a program.
#[derive(Clone, Debug)]
pub struct Case {
    /// A value for each given size.
    pub sizes: Vec<Option<u64>>,
    /// How arguments are filled.
    pub fill: Fill,
    /// What the interpreter gives; `None` when it was not asked.
    pub expected: Option<Vec<Array>>,
}

/// More than this is not computed while a project is written.
const LIMITS: Options =
    Options { turns: Some(1 << 22), loop_turns: None, elements: Some(1 << 20), refuse_denormals: false };

/// The number behind element `i` of argument `k`.
pub fn ramp(k: usize, i: u64) -> u64 {
    i.wrapping_mul(2 * k as u64 + 1).wrapping_add(k as u64) % 97 + 1
}

/// An element of an argument.
pub fn element(ty: Ty, fill: Fill, k: usize, i: u64) -> Scalar {
    match (fill, ty) {
        (Fill::Zeros, _) => Scalar::from_bits(ty, 0),
        (Fill::Ramp, Ty::Bool) => Scalar::bool(!ramp(k, i).is_multiple_of(3)),
        (Fill::Ramp, ty) => Scalar::from_int(ty, ramp(k, i).into()),
    }
}

/// An argument of a call, as a host writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value.
    Scalar(Scalar),
    /// So many elements, filled as the case says.
    Array {
        /// Their type.
        ty: Ty,
        /// How many.
        count: u64,
    },
}

/// The arguments of a call of a plan with these sizes.
pub fn arguments_of(plan: &Plan, fill: Fill, sizes: &[Option<u64>]) -> Option<Vec<Argument>> {
    let argument = |(k, ty): (usize, &Type)| {
        Some(match ty {
            Type::Scalar(ty) => Argument::Scalar(element(*ty, fill, k, 0)),
            Type::Array(ty, shape) => {
                let count = extents(shape, sizes)?.iter().try_fold(1u64, |n, &d| n.checked_mul(d))?;
                Argument::Array { ty: *ty, count }
            }
        })
    };
    plan.params.iter().map(|p| &p.ty).enumerate().map(argument).collect()
}

/// More expected values than this are sampled.
const EXPECTED: usize = 512;

/// Every so many elements of an array, and how many that is.
pub fn sampled(array: &Array) -> (Vec<Scalar>, usize) {
    let stride = array.data.len().div_ceil(EXPECTED).max(1);
    let values = array.data.iter().step_by(stride).map(|&bits| Scalar { ty: array.ty, bits });
    (values.collect(), stride)
}

/// How far a result may be off, relative to what is expected, as a literal.
pub fn tolerance(ty: Ty) -> &'static str {
    match ty {
        Ty::F16 => "4e-3",
        Ty::BF16 => "3e-2",
        Ty::F32 => "1e-5",
        Ty::F64 => "1e-12",
        _ => "0.0",
    }
}

/// The value of a shape.
pub fn extents(shape: &[Size], sizes: &[Option<u64>]) -> Option<Vec<u64>> {
    let known = |var: crate::size::SizeVar| sizes.get(var.0 as usize).copied().flatten();
    shape.iter().map(|size| size.eval(&known).ok()).collect()
}

fn arguments(program: &Program, sizes: &[Option<u64>], fill: Fill) -> Option<Vec<Value>> {
    let argument = |(k, ty): (usize, &Type)| {
        Some(match ty {
            Type::Scalar(ty) => Value::Scalar(element(*ty, fill, k, 0)),
            Type::Array(ty, shape) => {
                let shape = extents(shape, sizes)?;
                let count = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= 1 << 20)?;
                let data = (0..count).map(|i| element(*ty, fill, k, i).bits).collect();
                Value::Array(Array { ty: *ty, shape, data })
            }
        })
    };
    program.body.params.iter().map(|p| &p.ty).enumerate().map(argument).collect()
}

/// Sizes that differ from each other, or all the same.
fn sizes(program: &Program, of: impl Fn(usize) -> u64) -> Vec<Option<u64>> {
    let given = program.sizes.iter().enumerate();
    given.map(|(k, decl)| (decl.origin == SizeOrigin::Given).then(|| of(k))).collect()
}

/// A call that the interpreter can make, with its results. Where there is none, a call for measuring at most.
pub fn case(program: &Program) -> Case {
    let different = |k: usize| [7, 5, 3, 2][k % 4];
    for sizes in [sizes(program, different), sizes(program, |_| 6), sizes(program, |_| 1)] {
        for fill in [Fill::Ramp, Fill::Zeros] {
            let Some(args) = arguments(program, &sizes, fill) else { continue };
            let Ok(results) = run_with(program, &sizes, &args, &LIMITS) else { continue };
            let array = |value| match value {
                Value::Array(array) => array,
                Value::Scalar(Scalar { ty, bits }) => Array { ty, shape: vec![], data: vec![bits] },
            };
            return Case { sizes, fill, expected: Some(results.into_iter().map(array).collect()) };
        }
    }
    Case { sizes: sizes(program, |_| 6), fill: Fill::Zeros, expected: None }
}

/// Sizes for measuring: large, as far as the number of axes allows.
pub fn bench_sizes(program: &Program, case: &Case) -> Vec<Option<u64>> {
    let ranks = program.body.params.iter().map(|p| p.ty.shape().len());
    let large = match ranks.max() {
        Some(0 | 1) => 1 << 22,
        Some(2) => 1 << 10,
        _ => 1 << 6,
    };
    // Sizes that had to be equal for the interpreter stay equal, and inputs of positions stay zeros.
    if case.expected.is_some() { sizes(program, |_| large) } else { case.sizes.clone() }
}
