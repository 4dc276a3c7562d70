//! Expressions whose type is not settled yet, and the rule of integers.
//!
//! An expression is read once, bottom up, into a [`Draft`] that knows what its type can be; then the type that its surroundings want
//! is pushed down to the leaves. So a literal takes the type that is wanted, and `row * K + k` is computed in `i64` from
//! its leaves although `K` is an `i32` parameter.

use crate::span::Span;
use crate::syntax;
use crate::typed::{self, LocalId, Stmt};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Ty, int_range};
use std::fmt;

/// What the type of an expression can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// An error was told; anything goes.
    Wrong,
    /// Integer literals only: any type of numbers that is wanted, else `i64`.
    Int,
    /// Float literals only: any float, else `f32`.
    Float,
    /// Parameters of that integer type, and literals: that type where it is wanted, else `i64`.
    Param(Ty),
    /// That type.
    Fixed(Ty),
}

/// An expression whose type is not settled yet.
pub(super) struct Draft<'a> {
    pub class: Class,
    pub kind: DraftKind<'a>,
    /// As it was written.
    pub source: &'a syntax::Expr,
}

pub(super) enum DraftKind<'a> {
    Wrong,
    /// A literal with its sign.
    Int(i128),
    /// Digits of a literal.
    Float {
        digits: &'a str,
        negative: bool,
    },
    Param(LocalId, Ty),
    /// Everything about it is known.
    Done(typed::ExprKind),
    /// Operands and result share a type, and wider ones give the same result, or a better one.
    Apply(Operator, Vec<Draft<'a>>),
    /// The result depends on the width (`!x`, `popcount`): computed in the operand's own type.
    Rigid(Operator, Box<Draft<'a>>),
    /// Shifts and whole powers: the second operand does not take part in finding the type.
    Beside(Operator, Box<Draft<'a>>, Box<typed::Expr>),
    Select(Box<typed::Expr>, Box<[Draft<'a>; 2]>),
    If {
        cond: Box<typed::Expr>,
        then: Branch<'a>,
        otherwise: Branch<'a>,
    },
}

/// Statements and then a value.
pub(super) struct Branch<'a> {
    pub stmts: Vec<Stmt>,
    /// None where the statements leave before there is one.
    pub value: Option<Box<Draft<'a>>>,
}

impl<'a> Draft<'a> {
    pub(super) fn wrong(source: &'a syntax::Expr) -> Draft<'a> {
        Draft { class: Class::Wrong, kind: DraftKind::Wrong, source }
    }

    pub(super) fn done(ty: Ty, kind: typed::ExprKind, source: &'a syntax::Expr) -> Draft<'a> {
        Draft { class: Class::Fixed(ty), kind: DraftKind::Done(kind), source }
    }

    pub(super) fn span(&self) -> Span {
        self.source.span
    }
}

impl fmt::Display for Class {
    /// As messages speak of it: parameters by their own type.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Class::Wrong | Class::Int => f.write_str("an integer"),
            Class::Float => f.write_str("a float"),
            Class::Param(ty) | Class::Fixed(ty) => f.write_str(ty.name()),
        }
    }
}

impl Class {
    /// The type where none is wanted.
    pub(crate) fn natural(self) -> Ty {
        match self {
            Class::Wrong | Class::Int | Class::Param(_) => Ty::I64,
            Class::Float => Ty::F32,
            Class::Fixed(ty) => ty,
        }
    }

    /// Can it be a value of that type without a cast?
    pub(crate) fn fits(self, want: Ty) -> bool {
        match self {
            Class::Wrong => true,
            Class::Int => want.is_int(),
            Class::Float => want.is_float(),
            Class::Param(ty) => widens(ty, want),
            Class::Fixed(ty) => widens(ty, want),
        }
    }

    /// What two operands can be together, if anything.
    pub(crate) fn join(self, other: Class) -> Option<Class> {
        use Class::{Fixed, Float, Int, Param, Wrong};
        match (self, other) {
            (Wrong, _) | (_, Wrong) => Some(Wrong),
            (Int, Int) => Some(Int),
            (Float, Float) => Some(Float),
            (Int, Float) | (Float, Int) => None,
            (Int, Param(ty)) | (Param(ty), Int) => Some(Param(ty)),
            (Int, Fixed(ty)) | (Fixed(ty), Int) => ty.is_int().then_some(Fixed(ty)),
            (Float, Fixed(ty)) | (Fixed(ty), Float) => ty.is_float().then_some(Fixed(ty)),
            (Float, Param(_)) | (Param(_), Float) => None,
            (Param(a), Param(b)) if a == b => Some(Param(a)),
            (Param(_), Param(_)) => Some(Fixed(Ty::I64)),
            (Param(a), Fixed(b)) | (Fixed(b), Param(a)) if a == b => Some(Fixed(b)),
            (Param(a), Fixed(b)) | (Fixed(b), Param(a)) => {
                common(Ty::I64, b).or_else(|| widens(a, b).then_some(b)).map(Fixed)
            }
            (Fixed(a), Fixed(b)) => common(a, b).map(Fixed),
        }
    }
}

/// Does every value of one type have its like in the other, of the same kind?
pub(super) fn widens(from: Ty, to: Ty) -> bool {
    if from == to {
        return true;
    }
    if !from.is_int() || !to.is_int() {
        return false;
    }
    let ((low, high), (lowest, highest)) = (int_range(from), int_range(to));
    lowest <= low && high <= highest
}

/// The smallest type that holds all values of both.
fn common(a: Ty, b: Ty) -> Option<Ty> {
    let holds = |ty: &Ty| widens(a, *ty) && widens(b, *ty);
    if a == b {
        return Some(a);
    }
    [Ty::I8, Ty::U8, Ty::I16, Ty::U16, Ty::I32, Ty::U32, Ty::I64, Ty::U64].into_iter().find(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_mix_without_loss() {
        assert_eq!(common(Ty::I32, Ty::U32), Some(Ty::I64));
        assert_eq!(common(Ty::U8, Ty::I8), Some(Ty::I16));
        assert_eq!(common(Ty::U8, Ty::U64), Some(Ty::U64));
        assert_eq!(common(Ty::I64, Ty::U64), None);
        assert_eq!(common(Ty::F32, Ty::F64), None);
        assert_eq!(common(Ty::Bool, Ty::I8), None);
        assert!(!widens(Ty::I64, Ty::I32) && widens(Ty::U32, Ty::I64) && !widens(Ty::I8, Ty::U64));
    }

    #[test]
    fn parameters_read_as_i64_unless_their_type_is_wanted() {
        let param = Class::Param(Ty::I32);
        let place = Class::Fixed(Ty::I64);
        assert_eq!(param.join(place), Some(place));
        assert_eq!(param.join(Class::Int).map(Class::natural), Some(Ty::I64));
        assert_eq!(param.join(Class::Fixed(Ty::I32)), Some(Class::Fixed(Ty::I32)));
        assert_eq!(param.join(Class::Param(Ty::U32)), Some(place));
        assert_eq!(param.join(Class::Fixed(Ty::U32)), Some(place));
        assert_eq!(param.join(Class::Fixed(Ty::U64)), None);
        assert_eq!(Class::Param(Ty::U32).join(Class::Fixed(Ty::U64)), Some(Class::Fixed(Ty::U64)));
        assert!(param.fits(Ty::I32) && param.fits(Ty::I64) && !param.fits(Ty::U32) && !param.fits(Ty::F32));
    }
}
