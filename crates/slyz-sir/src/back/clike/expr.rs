//! Expressions: operators of the table as trees.
//!
//! A value of SIR type `T` may be held in another type of the language: a position in `uint` or `int`, where its range
//! fits, and a signed integer that wraps around in the unsigned type of its width, since signed overflow means nothing
//! in C. [`Expr::rep`] says which; [`Ops::to`] brings it into another.

use super::helpers::{Helpers, unsigned};
use super::{Dialect, EmitError};
use crate::back::tree::{Infix, Prefix, Tree};
use crate::ops::{Operator, Signature};
use crate::ranges::{self, Range};
use crate::types::{Scalar, Ty};

/// A tree with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub tree: Tree,
    /// The type of the language that it has.
    pub rep: Ty,
    /// The value, where it is a constant.
    pub literal: Option<Scalar>,
    /// Does it read memory that may change?
    pub reads: bool,
}

impl Expr {
    pub fn new(tree: Tree, rep: Ty) -> Expr {
        Expr { tree, rep, literal: None, reads: false }
    }

    pub fn name(name: impl Into<String>, rep: Ty) -> Expr {
        Expr::new(Tree::name(name), rep)
    }

    pub fn call(name: impl Into<String>, args: &[Expr], rep: Ty) -> Expr {
        let tree = Tree::call(name, args.iter().map(|a| a.tree.clone()));
        Expr { reads: args.iter().any(|a| a.reads), ..Expr::new(tree, rep) }
    }
}

/// Spells operators for one kernel.
pub(super) struct Ops<'a> {
    pub dialect: &'a dyn Dialect,
    pub helpers: &'a Helpers,
    pub kernel: &'a str,
}

/// A constant.
pub(super) fn literal(dialect: &dyn Dialect, value: Scalar, helpers: &Helpers) -> Tree {
    match value.ty {
        Ty::Bool => Tree::literal(value, false, if value.is_true() { "true" } else { "false" }),
        ty if ty.is_float() && !value.as_f64().is_finite() => dialect.special(value, helpers),
        ty if ty.is_float() => {
            let x = value.as_f64();
            let size = x.abs();
            let digits = if ty == Ty::F64 { format!("{size:?}") } else { format!("{:?}", size as f32) };
            dialect.literal(value, x.is_sign_negative(), &digits)
        }
        ty => {
            let x = value.as_int();
            let plain = |x: i128| dialect.literal(Scalar::from_int(ty, x), x < 0, &x.unsigned_abs().to_string());
            // The digits of the smallest number are past the largest: `-x` is the negation of a literal.
            if ty.bits() >= 32 && x == int_min(ty) && ty.is_signed() {
                Tree::literal(value, false, format!("({})", Tree::infix(Infix::Sub, plain(x + 1), plain(1))))
            } else {
                plain(x)
            }
        }
    }
}

fn int_min(ty: Ty) -> i128 {
    crate::types::int_range(ty).0
}

impl Ops<'_> {
    pub fn literal(&self, value: Scalar) -> Expr {
        let narrow = value.ty == Ty::I64 && self.dialect.positions() != Ty::I64;
        let fits = || i32::try_from(value.as_int()).is_ok();
        let value = match narrow {
            true if fits() => value.cast(Ty::I32),
            true => value.cast(Ty::U32),
            false => value,
        };
        Expr { literal: Some(value), ..Expr::new(literal(self.dialect, value, self.helpers), value.ty) }
    }

    /// The type that values of a type are held in.
    pub fn held(&self, ty: Ty) -> Ty {
        if ty == Ty::I64 { self.dialect.positions() } else { ty }
    }

    pub fn ty(&self, ty: Ty) -> Result<&'static str, EmitError> {
        self.dialect.scalar(self.held(ty)).ok_or_else(|| EmitError::Type {
            kernel: self.kernel.to_string(),
            language: self.dialect.language(),
            ty,
            remedy: self.dialect.remedy(ty),
        })
    }

    /// The same number as another type: with a cast where C would not do it by itself.
    pub fn to(&self, x: &Expr, ty: Ty) -> Result<Expr, EmitError> {
        let ty = self.held(ty);
        if x.rep == ty {
            return Ok(x.clone());
        }
        if let Some(value) = x.literal.filter(|v| !v.ty.is_float() && !ty.is_float()) {
            return Ok(self.literal(value.cast(ty)));
        }
        self.ty(ty)?;
        let tree = self.dialect.cast(x.rep, ty, x.tree.clone(), self.helpers);
        Ok(Expr { reads: x.reads, ..Expr::new(tree, ty) })
    }

    /// The tree where C converts between integers by itself: stores, initial values, assignments.
    pub fn assigned(&self, x: &Expr, ty: Ty) -> Result<Tree, EmitError> {
        let both_ints = !x.rep.is_float() && !ty.is_float() && x.rep != Ty::Bool && ty != Ty::Bool;
        if both_ints && x.literal.is_none() && self.dialect.converts() {
            Ok(x.tree.clone())
        } else {
            Ok(self.to(x, ty)?.tree)
        }
    }

    /// Operands of one type for an infix operator; a `long` makes C convert what stands beside it.
    fn together(&self, args: &[Expr], ty: Ty) -> Result<Vec<Expr>, EmitError> {
        let widened =
            ty == Ty::I64 && self.dialect.converts() && args.iter().any(|a| a.rep == Ty::I64 || a.literal.is_some());
        args.iter()
            .map(|a| match a.rep {
                Ty::U32 | Ty::I32 if widened && a.literal.is_none() => Ok(a.clone()),
                _ => self.to(a, ty),
            })
            .collect()
    }

    pub fn infix(&self, operator: Infix, a: &Expr, b: &Expr, rep: Ty) -> Expr {
        let tree = Tree::infix(operator, a.tree.clone(), b.tree.clone());
        Expr { reads: a.reads || b.reads, ..Expr::new(tree, rep) }
    }

    fn prefix(&self, operator: Prefix, x: &Expr, rep: Ty) -> Expr {
        Expr { reads: x.reads, ..Expr::new(Tree::prefix(operator, x.tree.clone()), rep) }
    }

    /// `condition ? a : b` of one type.
    pub fn choice(&self, condition: &Expr, a: &Expr, b: &Expr) -> Expr {
        let tree = self.dialect.choice(condition.tree.clone(), a.tree.clone(), b.tree.clone());
        Expr { reads: condition.reads || a.reads || b.reads, ..Expr::new(tree, a.rep) }
    }

    /// Adds to an index: both are inside, so C's own conversions do not hurt.
    pub fn plus(&self, a: &Expr, b: &Expr) -> Expr {
        self.infix(Infix::Add, a, b, a.rep)
    }

    pub fn times(&self, a: &Expr, b: &Expr) -> Expr {
        self.infix(Infix::Mul, a, b, a.rep)
    }

    /// An operator of the table. `ty` is the type it is on, `ranges` those of its operands.
    pub fn apply(&mut self, operator: Operator, args: &[Expr], ty: Ty, ranges: &[Range]) -> Result<Expr, EmitError> {
        self.ty(ty)?;
        if operator.row().signature == Signature::Select {
            let rep = if ty == Ty::I64 { self.held(ranges[1].union(ranges[2]).ty()) } else { ty };
            return Ok(self.choice(&args[0], &self.to(&args[1], rep)?, &self.to(&args[2], rep)?));
        }
        match ty {
            Ty::Bool => self.on_bools(operator, args),
            ty if ty.is_float() => self.on_floats(operator, args, ty),
            Ty::I64 => {
                let exact = ranges::exact(operator, ranges);
                let operands = ranges.iter().copied().reduce(Range::union).unwrap_or(Range::FULL);
                let all = exact.map_or(Range::FULL, |exact| exact.union(operands));
                let test = operator.row().signature == Signature::Test;
                if let Some(known) = decided(operator, ranges) {
                    return Ok(self.literal(Scalar::bool(known)));
                }
                let wide = match test {
                    true => operands.ty(),
                    false if ranges::counts_width(operator, ranges) => Ty::I64,
                    false => all.ty(),
                };
                let wraps = !test && !all.within(Range::FULL);
                let wide = self.held(wide);
                if operator == Operator::Shr && wide.bits() < ty.bits() && ranges::counts_width(operator, ranges) {
                    return self.shifted_word(args, wide);
                }
                let value = self.on_ints(operator, args, wide, wraps, ranges.last().copied())?;
                // Bits are shifted left as those of an unsigned number; a negative one must widen as such.
                if operator == Operator::Shl { self.to(&value, wide) } else { Ok(value) }
            }
            ty => self.on_ints(operator, args, ty, true, None),
        }
    }

    fn on_bools(&mut self, operator: Operator, args: &[Expr]) -> Result<Expr, EmitError> {
        let args: Vec<Expr> = args.iter().map(|a| self.to(a, Ty::Bool)).collect::<Result<_, _>>()?;
        let truth = |x: &Expr| x.literal.map(Scalar::is_true);
        let [a, b] = [&args[0], args.last().unwrap_or(&args[0])];
        match (operator, truth(a), truth(b)) {
            (Operator::And, Some(true), _) => return Ok(b.clone()),
            (Operator::And, _, Some(true)) => return Ok(a.clone()),
            (Operator::Not, Some(known), _) => return Ok(self.literal(Scalar::bool(!known))),
            _ => {}
        }
        if !self.dialect.converts() {
            let not = |x: &Expr| self.prefix(Prefix::Not, x, Ty::Bool);
            match operator {
                Operator::Lt => return Ok(self.infix(Infix::Both, &not(a), b, Ty::Bool)),
                Operator::Gt => return Ok(self.infix(Infix::Both, a, &not(b), Ty::Bool)),
                Operator::Le => return Ok(self.infix(Infix::Either, &not(a), b, Ty::Bool)),
                Operator::Ge => return Ok(self.infix(Infix::Either, a, &not(b), Ty::Bool)),
                _ => {}
            }
        }
        Ok(match operator {
            Operator::And => self.infix(Infix::Both, &args[0], &args[1], Ty::Bool),
            Operator::Or => self.infix(Infix::Either, &args[0], &args[1], Ty::Bool),
            Operator::Xor => self.infix(Infix::Ne, &args[0], &args[1], Ty::Bool),
            Operator::Not => self.prefix(Prefix::Not, &args[0], Ty::Bool),
            _ => self.comparison(operator, &args[0], &args[1]),
        })
    }

    fn comparison(&self, operator: Operator, a: &Expr, b: &Expr) -> Expr {
        self.infix(spelled(operator).unwrap_or(Infix::Eq), a, b, Ty::Bool)
    }

    /// On integers held in `ty`. `wraps` says that the result may be past the type, `last` what the last operand can be.
    fn on_ints(
        &mut self,
        operator: Operator,
        args: &[Expr],
        ty: Ty,
        wraps: bool,
        last: Option<Range>,
    ) -> Result<Expr, EmitError> {
        let small = ty.bits() < 32;
        let dialect = self.dialect;
        let fits = |x: Expr, this: &Self| -> Result<Expr, EmitError> {
            if small { this.to(&Expr { rep: dialect.promoted(ty), ..x }, ty) } else { Ok(x) }
        };
        let strict = |this: &Self| args.iter().map(|a| this.to(a, ty)).collect::<Result<Vec<_>, _>>();
        let constant = args.last().and_then(|a| a.literal).map(Scalar::as_int);
        Ok(match operator {
            Operator::Add | Operator::Sub | Operator::Mul => {
                let sign = match operator {
                    Operator::Add => Infix::Add,
                    Operator::Sub => Infix::Sub,
                    _ => Infix::Mul,
                };
                // Small integers are computed in int, and two of u16 may be past that.
                let rep = match ty {
                    Ty::U16 if operator == Operator::Mul => Ty::U32,
                    _ if small => ty,
                    _ if wraps && !dialect.wraps() => unsigned(ty),
                    _ => ty,
                };
                let args = self.together(args, rep)?;
                fits(self.infix(sign, &args[0], &args[1], rep), self)?
            }
            Operator::Fma => {
                let product = self.on_ints(Operator::Mul, &args[..2], ty, wraps, None)?;
                self.on_ints(Operator::Add, &[product, args[2].clone()], ty, wraps, None)?
            }
            Operator::Dot4 => Expr::call(dialect.dot4(self.helpers), &strict(self)?, ty),
            Operator::Neg => {
                let rep = if wraps && !small && !dialect.wraps() { unsigned(ty) } else { ty };
                if !dialect.converts() && !rep.is_signed() {
                    let zero = self.literal(Scalar::from_int(rep, 0));
                    return fits(self.infix(Infix::Sub, &zero, &self.to(&args[0], rep)?, rep), self);
                }
                fits(self.prefix(Prefix::Minus, &self.to(&args[0], rep)?, rep), self)?
            }
            Operator::Div if constant == Some(0) => self.to(&args[0], ty)?,
            Operator::Rem if constant == Some(0) => self.literal(Scalar::from_int(ty, 0)),
            Operator::Div | Operator::Rem => {
                let safe = match (constant, last) {
                    (Some(n), _) => n != 0 && n != -1,
                    (None, Some(range)) => range.lo > 0,
                    (None, None) => false,
                };
                if safe || dialect.divides() {
                    let args = self.together(args, ty)?;
                    let sign = if operator == Operator::Div { Infix::Div } else { Infix::Rem };
                    fits(self.infix(sign, &args[0], &args[1], ty), self)?
                } else {
                    let name = dialect.divide(operator, ty, self.helpers);
                    Expr::call(name, &strict(self)?, ty)
                }
            }
            Operator::Abs if !ty.is_signed() => self.to(&args[0], ty)?,
            Operator::Abs => Expr::call(dialect.absolute(ty, self.helpers), &strict(self)?, ty),
            Operator::Sign => Expr::call(dialect.sign(ty, self.helpers), &strict(self)?, ty),
            Operator::Min | Operator::Max if ty.bits() == 64 => {
                let name = dialect.extreme(operator, ty, self.helpers);
                Expr::call(name, &strict(self)?, ty)
            }
            Operator::Min | Operator::Max => {
                let rep = if small { dialect.promoted(ty) } else { ty };
                let args: Vec<Expr> = args.iter().map(|a| self.to(a, rep)).collect::<Result<_, _>>()?;
                fits(Expr::call(dialect.function(operator, rep, self.helpers), &args, rep), self)?
            }
            Operator::Clamp => {
                let low = self.on_ints(Operator::Max, &args[..2], ty, wraps, None)?;
                self.on_ints(Operator::Min, &[low, args[2].clone()], ty, wraps, None)?
            }
            Operator::And | Operator::Or | Operator::Xor => {
                let args = strict(self)?;
                fits(self.infix(spelled(operator).unwrap_or(Infix::And), &args[0], &args[1], ty), self)?
            }
            Operator::Not => {
                let x = self.to(&args[0], ty)?;
                fits(self.prefix(Prefix::Complement, &x, x.rep), self)?
            }
            Operator::Shl | Operator::Shr => self.shift(operator, args, ty, fits)?,
            operator if operator.sees_width() => self.all_bits(operator, &args[0], ty)?,
            _ => {
                let args = self.together(args, ty)?;
                self.comparison(operator, &args[0], &args[1])
            }
        })
    }

    /// An `i64` that is held in a word, shifted right by as much as `i64`s are: past the last bit nothing but the sign is left.
    fn shifted_word(&self, args: &[Expr], word: Ty) -> Result<Expr, EmitError> {
        let last = i128::from(word.bits()) - 1;
        let amount = match args[1].literal {
            Some(n) => {
                let amount = n.as_int().rem_euclid(Ty::I64.bits().into()).min(last);
                self.literal(Scalar::from_int(self.dialect.shift_amount(), amount))
            }
            None => {
                let mask = self.literal(Scalar::from_int(word, i128::from(Ty::I64.bits()) - 1));
                let amount = self.infix(Infix::And, &self.to(&args[1], word)?, &mask, word);
                let last = self.literal(Scalar::from_int(word, last));
                let least = self.dialect.function(Operator::Min, word, self.helpers);
                self.to(&Expr::call(least, &[amount, last], word), self.dialect.shift_amount())?
            }
        };
        let value = self.to(&args[0], word)?;
        Ok(self.infix(Infix::Shr, &value, &amount, word))
    }

    fn shift(
        &self,
        operator: Operator,
        args: &[Expr],
        ty: Ty,
        fits: impl Fn(Expr, &Self) -> Result<Expr, EmitError>,
    ) -> Result<Expr, EmitError> {
        let bits = ty.bits() as i128;
        let amount = match args[1].literal {
            Some(n) => self.literal(Scalar::from_int(self.dialect.shift_amount(), n.as_int().rem_euclid(bits))),
            None => {
                let mask = self.literal(Scalar::from_int(ty, bits - 1));
                let amount = self.infix(Infix::And, &self.to(&args[1], ty)?, &mask, ty);
                self.to(&amount, self.dialect.shift_amount())?
            }
        };
        if operator == Operator::Shr {
            return fits(self.infix(Infix::Shr, &self.to(&args[0], ty)?, &amount, ty), self);
        }
        let rep = match ty.bits() < 32 {
            true => self.dialect.promoted(ty),
            false if self.dialect.wraps() => ty,
            false => unsigned(ty),
        };
        let rep = if self.dialect.converts() && ty.bits() < 32 { Ty::U32 } else { rep };
        let value = self.to(&self.to(&args[0], ty)?, rep)?;
        fits(self.infix(Infix::Shl, &value, &amount, rep), self)
    }

    /// A number of bits, or the bits in another order.
    fn all_bits(&mut self, operator: Operator, x: &Expr, ty: Ty) -> Result<Expr, EmitError> {
        let bits = ty.bits();
        if bits == 64 {
            let (name, result) = self.dialect.wide_bits(operator, self.helpers);
            let x = self.to(&self.to(x, ty)?, Ty::U64)?;
            return Ok(Expr::call(name, &[x], result));
        }
        let name = self.dialect.function(operator, Ty::U32, self.helpers);
        let x = self.to(&self.to(&self.to(x, ty)?, unsigned(ty))?, Ty::U32)?;
        let number = |n: u32| self.literal(Scalar::from_int(Ty::U32, n.into()));
        Ok(match operator {
            // A bit past the top ends the search in a small integer.
            Operator::TrailingZeros if bits < 32 => {
                let x = self.infix(Infix::Or, &x, &number(1 << bits), Ty::U32);
                Expr::call(name, &[x], Ty::U32)
            }
            Operator::LeadingZeros if bits < 32 => {
                self.infix(Infix::Sub, &Expr::call(name, &[x], Ty::U32), &number(32 - bits), Ty::U32)
            }
            // They begin at the other end of the word.
            operator if bits < 32 && !operator.counts_bits() => {
                self.infix(Infix::Shr, &Expr::call(name, &[x], Ty::U32), &number(32 - bits), Ty::U32)
            }
            _ => Expr::call(name, &[x], Ty::U32),
        })
    }

    fn on_floats(&mut self, operator: Operator, args: &[Expr], ty: Ty) -> Result<Expr, EmitError> {
        let value = self.on_floats_unrounded(operator, args, ty)?;
        let held = self.dialect.rounds(ty) && value.rep == ty;
        if held { self.to(&Expr { rep: widened(ty), ..value }, ty) } else { Ok(value) }
    }

    fn on_floats_unrounded(&mut self, operator: Operator, args: &[Expr], ty: Ty) -> Result<Expr, EmitError> {
        let plain = |this: &Self, sign: Infix| this.infix(sign, &args[0], &args[1], ty);
        Ok(match operator {
            Operator::Add => plain(self, Infix::Add),
            Operator::Sub => plain(self, Infix::Sub),
            Operator::Mul => plain(self, Infix::Mul),
            Operator::Div => plain(self, Infix::Div),
            Operator::Neg => self.prefix(Prefix::Minus, &args[0], ty),
            Operator::Recip => self.infix(Infix::Div, &self.literal(Scalar::from_f64(ty, 1.0)), &args[0], ty),
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge | Operator::Eq | Operator::Ne => {
                self.comparison(operator, &args[0], &args[1])
            }
            // Half precision is computed in single precision and rounded.
            _ => {
                let wide = widened(ty);
                let args: Vec<Expr> = args
                    .iter()
                    .map(|a| if a.rep.is_float() { self.to_float(a, wide) } else { Ok(a.clone()) })
                    .collect::<Result<_, _>>()?;
                let value = self.mathematics(operator, &args, wide)?;
                match value.rep == wide {
                    true if self.dialect.rounds(ty) => Expr { rep: ty, ..value },
                    true => self.to(&value, ty)?,
                    false => value,
                }
            }
        })
    }

    fn to_float(&self, x: &Expr, ty: Ty) -> Result<Expr, EmitError> {
        match x.literal {
            Some(value) => Ok(self.literal(value.cast(ty))),
            None => self.to(x, ty),
        }
    }

    /// In single or double precision.
    fn mathematics(&mut self, operator: Operator, args: &[Expr], ty: Ty) -> Result<Expr, EmitError> {
        let dialect = self.dialect;
        Ok(match operator {
            Operator::Min | Operator::Max => Expr::call(dialect.extreme(operator, ty, self.helpers), args, ty),
            Operator::Clamp => {
                let max = dialect.extreme(Operator::Max, ty, self.helpers);
                let min = dialect.extreme(Operator::Min, ty, self.helpers);
                Expr::call(min, &[Expr::call(max, &args[..2], ty), args[2].clone()], ty)
            }
            Operator::Sign => Expr::call(dialect.sign(ty, self.helpers), args, ty),
            Operator::IsNan | Operator::IsFinite => {
                Expr::call(dialect.function(operator, ty, self.helpers), args, Ty::Bool)
            }
            Operator::Powi => {
                let args = [args[0].clone(), self.to(&args[1], Ty::I32)?];
                Expr::call(dialect.function(operator, ty, self.helpers), &args, ty)
            }
            _ => Expr::call(dialect.function(operator, ty, self.helpers), args, ty),
        })
    }

    /// A conversion, as [`Scalar::cast`] makes it. `from` is the SIR type of the operand.
    pub fn cast(&mut self, x: &Expr, from: Ty, to: Ty) -> Result<Expr, EmitError> {
        self.ty(to)?;
        if let Some(value) = x.literal {
            return Ok(self.literal(value.cast(to)));
        }
        // Positions in narrow types hold the very number; what has wrapped around is brought back first.
        let x = if from == Ty::I64 && matches!(x.rep, Ty::U32 | Ty::I32) { x.clone() } else { self.to(x, from)? };
        Ok(match to {
            _ if from == to => x,
            Ty::Bool => {
                let zero = if from.is_float() { Scalar::from_f64(from, 0.0) } else { Scalar::from_int(x.rep, 0) };
                self.infix(Infix::Ne, &x, &self.literal(zero), Ty::Bool)
            }
            _ if from.is_float() && to.is_float() => self.to(&self.to_float(&x, widened(from))?, to)?,
            _ if from.is_float() => {
                let wide = widened(from);
                let name = self.dialect.to_int(wide, self.held(to), self.helpers);
                Expr::call(name, &[self.to_float(&x, wide)?], to)
            }
            Ty::I64 => match Range::of(from) {
                // A position that came from data of 32 bits is as good as it is.
                range if range.within(Range::of(Ty::U32)) => self.to(&x, Ty::U32)?,
                range if range.within(Range::of(Ty::I32)) => self.to(&x, Ty::I32)?,
                _ => self.to(&x, to)?,
            },
            _ => self.to(&x, to)?,
        })
    }

    pub fn bitcast(&self, x: &Expr, from: Ty, to: Ty) -> Result<Expr, EmitError> {
        self.ty(to)?;
        if from == to {
            return Ok(x.clone());
        }
        let x = self.to(x, from)?;
        if !from.is_float() && !to.is_float() {
            return self.to(&x, to);
        }
        let is_int = self.dialect.converts() && from.bits() < 32 && !from.is_float() && x.tree.is_promoted();
        let tree = if is_int { Tree::cast(self.ty(from)?, x.tree) } else { x.tree };
        Ok(Expr { reads: x.reads, ..Expr::new(self.dialect.bits(from, to, tree), to) })
    }
}

/// What a comparison of numbers in ranges gives, where that is known.
fn decided(operator: Operator, ranges: &[Range]) -> Option<bool> {
    let [a, b] = ranges else { return None };
    match operator {
        Operator::Ge if a.lo >= b.hi => Some(true),
        Operator::Gt if a.lo > b.hi => Some(true),
        Operator::Le if a.hi <= b.lo => Some(true),
        Operator::Lt if a.hi < b.lo => Some(true),
        _ => None,
    }
}

/// The infix operator that the table spells an operator with.
fn spelled(operator: Operator) -> Option<Infix> {
    operator.row().infix.and_then(Infix::spelled)
}

/// The precision that mathematics is done in.
fn widened(ty: Ty) -> Ty {
    if ty == Ty::F64 { Ty::F64 } else { Ty::F32 }
}
