//! A function of SIR written as Rust arithmetic.
//!
//! Values are copied freely and know the sheet that they stand on, so that formulas read as in a book; what they write goes through
//! [`crate::write`].

use super::Means;
use super::parts::Shared;
use crate::code::{Body, FnId, Function, Id, Op, Var};
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write as _};
use std::cell::RefCell;
use std::collections::HashSet;

/// Code under construction.
pub(super) struct Sheet {
    lines: RefCell<Lines>,
    means: Means,
    /// What rounds once or twice, as the machine likes.
    loose: RefCell<HashSet<Id>>,
    /// What is called, by its number.
    called: RefCell<Vec<&'static Shared>>,
}

/// A value of the function.
#[derive(Clone, Copy)]
pub(super) struct E<'a> {
    sheet: &'a Sheet,
    id: Id,
    ty: Ty,
}

/// How the bits of a float type are laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// All bits.
    pub(super) width: i64,
    /// Bits of the mantissa, without the leading one that is not stored.
    pub(super) mantissa: i64,
    /// The exponent of 1.
    pub(super) bias: i64,
    /// The bits of the mantissa.
    pub(super) fraction: i64,
    /// The bits of infinity.
    pub(super) infinity: i64,
    /// Every bit but the sign.
    pub(super) size: i64,
}

impl Layout {
    const SINGLE: Layout =
        Layout { width: 32, mantissa: 23, bias: 127, fraction: 0x7f_ffff, infinity: 0x7f80_0000, size: 0x7fff_ffff };
    const DOUBLE: Layout =
        Layout { width: 64, mantissa: 52, bias: 1023, fraction: (1 << 52) - 1, infinity: 0x7ff << 52, size: i64::MAX };

    /// The smallest normal number, which is also the leading one of a mantissa.
    pub(super) fn normal(self) -> i64 {
        self.fraction + 1
    }

    /// Bits above a mantissa with its leading one.
    pub(super) fn spare(self) -> i64 {
        self.width - self.mantissa - 1
    }
}

/// What can stand beside a value: another one, or a number.
pub(super) trait Like<'a> {
    fn like(self, other: E<'a>) -> E<'a>;
}

impl<'a> Like<'a> for E<'a> {
    fn like(self, _: E<'a>) -> E<'a> {
        self
    }
}

impl<'a> Like<'a> for f64 {
    fn like(self, other: E<'a>) -> E<'a> {
        other.constant(Scalar::from_f64(other.ty, self))
    }
}

impl<'a> Like<'a> for i64 {
    fn like(self, other: E<'a>) -> E<'a> {
        other.constant(Scalar::from_int(other.ty, self.into()))
    }
}

/// A function with parameters of these types.
pub(super) fn function(name: &str, params: &[Ty], write: impl for<'a> FnOnce(&[E<'a>]) -> Vec<E<'a>>) -> Function {
    function_by(Means::default(), name, params, write)
}

/// A function with parameters of these types, for a target with these means.
pub(super) fn function_by(
    means: Means,
    name: &str,
    params: &[Ty],
    write: impl for<'a> FnOnce(&[E<'a>]) -> Vec<E<'a>>,
) -> Function {
    let sheet = Sheet::new(means);
    Function { name: name.into(), body: sheet.body(params, write) }
}

/// A function for vectors, what it calls, and what may round as the machine likes.
pub(super) fn function_for_lanes(
    name: &str,
    params: &[Ty],
    write: impl for<'a> FnOnce(&[E<'a>]) -> Vec<E<'a>>,
) -> (Function, Vec<&'static Shared>, HashSet<Id>) {
    let sheet = Sheet::new(Means { lanes: true, ..Means::default() });
    let function = Function { name: name.into(), body: sheet.body(params, write) };
    (function, sheet.called.take(), sheet.loose.take())
}

impl Sheet {
    fn new(means: Means) -> Sheet {
        Sheet { lines: RefCell::new(Lines::from(0)), means, loose: RefCell::default(), called: RefCell::default() }
    }

    fn push(&self, op: Op, ty: Ty) -> E<'_> {
        let id = self.lines.borrow_mut().push(op, ty);
        E { sheet: self, id, ty }
    }

    fn push_many(&self, op: Op, tys: &[Ty]) -> Vec<E<'_>> {
        let ids = self.lines.borrow_mut().bind(op, tys);
        ids.into_iter().zip(tys).map(|(id, &ty)| E { sheet: self, id, ty }).collect()
    }

    /// A body. The lines are free while `write` runs, which reaches them through its values.
    fn body<'a>(&'a self, tys: &[Ty], write: impl FnOnce(&[E<'a>]) -> Vec<E<'a>>) -> Body {
        let around = self.lines.borrow_mut().begin();
        let params: Vec<Var> = tys.iter().map(|&ty| self.lines.borrow_mut().var(ty)).collect();
        let args: Vec<E> = params.iter().zip(tys).map(|(param, &ty)| E { sheet: self, id: param.id, ty }).collect();
        let results = write(&args).iter().map(|e| e.id).collect();
        Body { params, stmts: self.lines.borrow_mut().end(around), results }
    }
}

impl<'a> E<'a> {
    fn apply(self, operator: Operator, more: &[E<'a>]) -> E<'a> {
        let args: Vec<E> = std::iter::once(self).chain(more.iter().copied()).collect();
        let tys: Vec<Ty> = args.iter().map(|e| e.ty).collect();
        let ty = operator.result(&tys).expect("expansions apply operators to types that have them");
        self.sheet.push(Op::Apply(operator, args.iter().map(|e| e.id).collect()), ty)
    }

    /// A number of the same type.
    pub(super) fn number(self, x: impl Like<'a>) -> E<'a> {
        x.like(self)
    }

    /// A number of another type.
    pub(super) fn constant(self, scalar: Scalar) -> E<'a> {
        self.sheet.push(Op::Const(scalar), scalar.ty)
    }

    /// An operator of one operand.
    pub(super) fn op1(self, operator: Operator) -> E<'a> {
        self.apply(operator, &[])
    }

    pub(super) fn op2(self, operator: Operator, other: impl Like<'a>) -> E<'a> {
        self.apply(operator, &[other.like(self)])
    }

    pub(super) fn fma(self, b: impl Like<'a>, c: impl Like<'a>) -> E<'a> {
        let b = b.like(self);
        let c = c.like(self);
        if self.sheet.means.paired && self.ty == Ty::F32 {
            return self.paired(b, c);
        }
        self.apply(Operator::Fma, &[b, c])
    }

    /// `a * b + c` of a product in two floats (Dekker) and a sum in two (Knuth): all but as good as one rounding.
    fn paired(self, b: E<'a>, c: E<'a>) -> E<'a> {
        let split = |x: E<'a>| {
            let high = (x.signed() & -4096i64).float();
            (high, x - high)
        };
        let (a_high, a_low) = split(self);
        let (b_high, b_low) = split(b);
        let product = self * b;
        let rest = a_low * b_low + (a_low * b_high + (a_high * b_low + (a_high * b_high - product)));
        let sum = product + c;
        let part = sum - product;
        let lost = (product - (sum - part)) + (c - part);
        sum + (lost + rest)
    }

    /// `a * b + c` where it does not matter whether it rounds once or twice.
    pub(super) fn mla(self, b: impl Like<'a>, c: impl Like<'a>) -> E<'a> {
        if self.in_lanes() {
            let sum = self.fma(b, c);
            self.sheet.loose.borrow_mut().insert(sum.id);
            return sum;
        }
        if self.is_fused() { self.fma(b, c) } else { self * b.like(self) + c.like(self) }
    }

    /// Is it for vectors of a CPU?
    pub(super) fn in_lanes(self) -> bool {
        self.sheet.means.lanes
    }

    /// What operators share, with this as the first argument: a call where there are vectors, and a part of the formula elsewhere.
    pub(super) fn shared(self, part: &'static Shared, more: &[E<'a>]) -> Vec<E<'a>> {
        let args: Vec<E> = std::iter::once(self).chain(more.iter().copied()).collect();
        if !self.in_lanes() {
            return (part.write)(&args);
        }
        let mut called = self.sheet.called.borrow_mut();
        let known = called.iter().position(|known| std::ptr::eq(*known, part));
        let number = known.unwrap_or_else(|| {
            called.push(part);
            called.len() - 1
        });
        let tys: Vec<Ty> = part.results.iter().map(|kind| kind.at(self.ty)).collect();
        let args = args.iter().map(|arg| arg.id).collect();
        self.sheet.push_many(Op::Call(FnId(number as u32), args), &tys)
    }

    /// These values, but where this condition holds others, which nobody computes where it holds nowhere: vectors that mend what
    /// is rare.
    pub(super) fn mends(self, usual: &[E<'a>], rare: impl FnOnce() -> Vec<E<'a>>) -> Vec<E<'a>> {
        self.branch(rare, || usual.to_vec())
    }

    /// Adding it leaves the nearest whole number in the low bits.
    pub(super) fn shifter(self) -> E<'a> {
        self.number(self.either(12_582_912.0, 6_755_399_441_055_744.0))
    }

    /// The whole number that the shifter was added to, as an integer.
    pub(super) fn shifted(self) -> E<'a> {
        self.signed() - self.shifter().signed()
    }

    /// The same as a float. A compiler that counts with real numbers sees nothing in taking away what was added: it must not see it.
    pub(super) fn unshifted(self) -> E<'a> {
        if self.sheet.means.paired { self.shifted().cast(self.ty()) } else { self - self.shifter() }
    }

    /// Does the target multiply and add at the price of one?
    pub(super) fn is_fused(self) -> bool {
        self.sheet.means.fused
    }

    /// The polynomial in `self` with these coefficients, the highest first.
    pub(super) fn polynomial(self, coefficients: &[f64]) -> E<'a> {
        let (first, rest) = coefficients.split_first().expect("a polynomial has a coefficient");
        rest.iter().fold(self.number(*first), |sum, &c| sum.mla(self, c))
    }

    pub(super) fn abs(self) -> E<'a> {
        self.op1(Operator::Abs)
    }

    pub(super) fn sqrt(self) -> E<'a> {
        self.op1(Operator::Sqrt)
    }

    pub(super) fn lt(self, other: impl Like<'a>) -> E<'a> {
        self.op2(Operator::Lt, other)
    }

    pub(super) fn gt(self, other: impl Like<'a>) -> E<'a> {
        self.op2(Operator::Gt, other)
    }

    pub(super) fn ge(self, other: impl Like<'a>) -> E<'a> {
        self.op2(Operator::Ge, other)
    }

    pub(super) fn eq(self, other: impl Like<'a>) -> E<'a> {
        self.op2(Operator::Eq, other)
    }

    pub(super) fn ne(self, other: impl Like<'a>) -> E<'a> {
        self.op2(Operator::Ne, other)
    }

    pub(super) fn is_nan(self) -> E<'a> {
        self.op1(Operator::IsNan)
    }

    pub(super) fn is_finite(self) -> E<'a> {
        self.op1(Operator::IsFinite)
    }

    /// Another value where a condition holds.
    pub(super) fn replaced(self, cond: E<'a>, by: impl Like<'a>) -> E<'a> {
        let by = by.like(self);
        cond.apply(Operator::Select, &[by, self])
    }

    pub(super) fn cast(self, to: Ty) -> E<'a> {
        self.sheet.push(Op::Cast(to, self.id), to)
    }

    pub(super) fn bits(self, to: Ty) -> E<'a> {
        self.sheet.push(Op::Bitcast(to, self.id), to)
    }

    /// Its type.
    pub(super) fn ty(self) -> Ty {
        self.ty
    }

    /// The first for a type of 32 bits, the second for one of 64.
    pub(super) fn either<T>(self, single: T, double: T) -> T {
        if self.ty.bits() == 64 { double } else { single }
    }

    /// How the floats of its width are laid out.
    pub(super) fn layout(self) -> Layout {
        self.either(Layout::SINGLE, Layout::DOUBLE)
    }

    /// The bits of a float or an integer as a signed integer.
    pub(super) fn signed(self) -> E<'a> {
        self.bits(self.either(Ty::I32, Ty::I64))
    }

    /// The bits of a float or an integer as an unsigned integer.
    pub(super) fn word(self) -> E<'a> {
        self.bits(self.either(Ty::U32, Ty::U64))
    }

    /// The float that an integer has the bits of.
    pub(super) fn float(self) -> E<'a> {
        self.bits(self.either(Ty::F32, Ty::F64))
    }

    /// The bits of a float without its sign.
    pub(super) fn size(self) -> E<'a> {
        self.word() & self.layout().size
    }

    /// The size of one number with the sign of another.
    pub(super) fn with_sign_of(self, sign: E<'a>) -> E<'a> {
        (self.size() | (sign.word() & !self.layout().size)).float()
    }

    /// One of two groups of values; only that one is computed.
    pub(super) fn branch(
        self,
        then: impl FnOnce() -> Vec<E<'a>>,
        otherwise: impl FnOnce() -> Vec<E<'a>>,
    ) -> Vec<E<'a>> {
        let mut tys = vec![];
        let sheet = self.sheet;
        let then = sheet.body(&[], |_| {
            let values = then();
            tys = values.iter().map(|e| e.ty).collect();
            values
        });
        let otherwise = sheet.body(&[], |_| otherwise());
        sheet.push_many(Op::If { cond: self.id, args: vec![], then, otherwise }, &tys)
    }
}

/// Repeats while a condition on the state holds.
pub(super) fn repeat<'a>(
    init: &[E<'a>],
    cond: impl FnOnce(&[E<'a>]) -> E<'a>,
    step: impl FnOnce(&[E<'a>]) -> Vec<E<'a>>,
) -> Vec<E<'a>> {
    let sheet = init[0].sheet;
    let tys: Vec<Ty> = init.iter().map(|e| e.ty).collect();
    let cond = sheet.body(&tys, |state| vec![cond(state)]);
    let body = sheet.body(&tys, step);
    sheet.push_many(Op::While { init: init.iter().map(|e| e.id).collect(), cond, body }, &tys)
}

macro_rules! infix {
    ($($trait:ident $method:ident $operator:ident)*) => { $(
        impl<'a, T: Like<'a>> std::ops::$trait<T> for E<'a> {
            type Output = E<'a>;
            fn $method(self, other: T) -> E<'a> {
                self.op2(Operator::$operator, other)
            }
        }

        impl<'a> std::ops::$trait<E<'a>> for f64 {
            type Output = E<'a>;
            fn $method(self, other: E<'a>) -> E<'a> {
                self.like(other).op2(Operator::$operator, other)
            }
        }

        impl<'a> std::ops::$trait<E<'a>> for i64 {
            type Output = E<'a>;
            fn $method(self, other: E<'a>) -> E<'a> {
                self.like(other).op2(Operator::$operator, other)
            }
        }
    )* };
}

infix! { Add add Add Sub sub Sub Mul mul Mul Div div Div BitAnd bitand And BitOr bitor Or BitXor bitxor Xor Shl shl Shl Shr shr Shr }

impl<'a> std::ops::Neg for E<'a> {
    type Output = E<'a>;
    fn neg(self) -> E<'a> {
        self.op1(Operator::Neg)
    }
}

impl<'a> std::ops::Not for E<'a> {
    type Output = E<'a>;
    fn not(self) -> E<'a> {
        self.op1(Operator::Not)
    }
}
