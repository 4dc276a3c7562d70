//! Expressions: operators of the table as text.
//!
//! A value of SIR type `T` may be held in another type of the language: a position in `uint` or `int`, where its range
//! fits, and a signed integer that wraps around in the unsigned type of its width, since signed overflow means nothing
//! in C. [`Expr::rep`] says which; [`Ops::to`] brings it into another.

use super::helpers::{self, Helpers, Spell, unsigned};
use super::{Dialect, EmitError};
use crate::ops::{Operator, Signature};
use crate::ranges::{self, Range};
use crate::types::{Scalar, Ty};

/// Names, literals, calls, elements.
pub(super) const ATOM: u8 = 16;
const UNARY: u8 = 15;
const TIMES: u8 = 13;
const PLUS: u8 = 12;
const SHIFT: u8 = 11;
const RELATION: u8 = 10;
const EQUALITY: u8 = 9;
const BITS: u8 = 8;
const BOTH: u8 = 5;
const EITHER: u8 = 4;
const CHOICE: u8 = 3;

/// Text with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub text: String,
    /// How tightly it binds; C's own order.
    pub prec: u8,
    /// The type of the language that it has.
    pub rep: Ty,
    /// The value, where it is a constant.
    pub literal: Option<Scalar>,
    /// Does it read memory that may change?
    pub reads: bool,
}

impl Expr {
    pub fn atom(text: impl Into<String>, rep: Ty) -> Expr {
        Expr { text: text.into(), prec: ATOM, rep, literal: None, reads: false }
    }

    pub fn call(name: &str, args: &[Expr], rep: Ty) -> Expr {
        let texts: Vec<&str> = args.iter().map(|a| &a.text[..]).collect();
        let text = format!("{name}({})", texts.join(", "));
        Expr { text, prec: ATOM, rep, literal: None, reads: args.iter().any(|a| a.reads) }
    }

    fn at_least(&self, prec: u8) -> String {
        if self.prec >= prec { self.text.clone() } else { format!("({})", self.text) }
    }

    /// The text as an operand of anything.
    pub fn operand(&self) -> String {
        self.at_least(UNARY)
    }
}

/// Spells operators for one kernel.
pub(super) struct Ops<'a> {
    pub dialect: &'a dyn Dialect,
    pub helpers: &'a mut Helpers,
    pub kernel: &'a str,
}

struct Speller<'a>(&'a dyn Dialect);

impl Spell for Speller<'_> {
    fn ty(&self, ty: Ty) -> &'static str {
        self.0.scalar(ty).unwrap_or("void")
    }
    fn int(&self, ty: Ty, value: i128) -> String {
        literal(self.0, Scalar::from_int(ty, value)).text
    }
    fn function(&self, operator: Operator) -> Option<&'static str> {
        self.0.function(operator)
    }
}

/// A constant.
pub(super) fn literal(dialect: &dyn Dialect, value: Scalar) -> Expr {
    let (text, prec) = match value.ty {
        Ty::Bool => ((if value.is_true() { "true" } else { "false" }).to_string(), ATOM),
        ty if ty.is_float() && !value.as_f64().is_finite() => (dialect.special(value), UNARY),
        ty if ty.is_float() => {
            let x = value.as_f64();
            let digits = if ty == Ty::F64 { format!("{x:?}") } else { format!("{:?}", x as f32) };
            let text = dialect.literal(ty, &digits);
            let plain = text.starts_with(|c: char| c.is_ascii_digit());
            (text, if plain { ATOM } else { UNARY })
        }
        ty => {
            let x = value.as_int();
            // The digits of the smallest number are past the largest: `-x` is the negation of a literal.
            if ty.bits() >= 32 && x == int_min(ty) && ty.is_signed() {
                let text = format!("({} - {})", dialect.literal(ty, &(x + 1).to_string()), dialect.literal(ty, "1"));
                (text, ATOM)
            } else {
                (dialect.literal(ty, &x.to_string()), if x < 0 { UNARY } else { ATOM })
            }
        }
    };
    Expr { text, prec, rep: value.ty, literal: Some(value), reads: false }
}

fn int_min(ty: Ty) -> i128 {
    crate::types::int_range(ty).0
}

impl Ops<'_> {
    pub fn literal(&self, value: Scalar) -> Expr {
        literal(self.dialect, value)
    }

    pub fn ty(&self, ty: Ty) -> Result<&'static str, EmitError> {
        self.dialect.scalar(ty).ok_or_else(|| EmitError::Type {
            kernel: self.kernel.to_string(),
            language: self.dialect.language(),
            ty,
            remedy: self.dialect.remedy(ty),
        })
    }

    /// The same number as another type: with a cast where C would not do it by itself.
    pub fn to(&self, x: &Expr, ty: Ty) -> Result<Expr, EmitError> {
        if x.rep == ty {
            return Ok(x.clone());
        }
        if let Some(value) = x.literal.filter(|v| !v.ty.is_float() && !ty.is_float()) {
            return Ok(self.literal(value.cast(ty)));
        }
        let text = format!("({}){}", self.ty(ty)?, x.operand());
        Ok(Expr { text, prec: UNARY, rep: ty, literal: None, reads: x.reads })
    }

    /// The text where C converts between integers by itself: stores, initial values, assignments.
    pub fn assigned(&self, x: &Expr, ty: Ty) -> Result<String, EmitError> {
        let both_ints = !x.rep.is_float() && !ty.is_float() && x.rep != Ty::Bool && ty != Ty::Bool;
        if both_ints && x.literal.is_none() { Ok(x.text.clone()) } else { Ok(self.to(x, ty)?.text) }
    }

    /// Operands of one type for an infix operator; a `long` makes C convert what stands beside it.
    fn together(&self, args: &[Expr], ty: Ty) -> Result<Vec<Expr>, EmitError> {
        let widened = ty == Ty::I64 && args.iter().any(|a| a.rep == Ty::I64 || a.literal.is_some());
        args.iter()
            .map(|a| match a.rep {
                Ty::U32 | Ty::I32 if widened && a.literal.is_none() => Ok(a.clone()),
                _ => self.to(a, ty),
            })
            .collect()
    }

    fn infix(&self, sign: &str, prec: u8, a: &Expr, b: &Expr, rep: Ty) -> Expr {
        // C's order of bits, shifts and comparisons surprises people and compilers: these get parentheses.
        let (left, right) = match prec {
            BITS | SHIFT => (UNARY, UNARY),
            RELATION | EQUALITY => (PLUS, PLUS),
            BOTH | EITHER => (EQUALITY, EQUALITY),
            _ => (prec, prec + 1),
        };
        let same = |x: &Expr| matches!(prec, BOTH | EITHER) && x.prec == prec;
        let left = if same(a) { a.text.clone() } else { a.at_least(left) };
        let right = if same(b) { b.text.clone() } else { b.at_least(right) };
        let text = format!("{left} {sign} {right}");
        Expr { text, prec, rep, literal: None, reads: a.reads || b.reads }
    }

    fn negated(&self, x: &Expr, rep: Ty) -> Expr {
        let text = x.operand();
        let text = if text.starts_with('-') { format!("-({text})") } else { format!("-{text}") };
        Expr { text, prec: UNARY, rep, literal: None, reads: x.reads }
    }

    /// `condition ? a : b` of one type.
    pub fn choice(&self, condition: &Expr, a: &Expr, b: &Expr) -> Expr {
        let text = format!(
            "{} ? {} : {}",
            condition.at_least(CHOICE + 1),
            a.at_least(CHOICE + 1),
            if b.prec == CHOICE { b.text.clone() } else { b.at_least(CHOICE) }
        );
        Expr { text, prec: CHOICE, rep: a.rep, literal: None, reads: condition.reads || a.reads || b.reads }
    }

    /// Adds to an index: both are inside, so C's own conversions do not hurt.
    pub fn plus(&self, a: &Expr, b: &Expr) -> Expr {
        self.infix("+", PLUS, a, b, a.rep)
    }

    pub fn times(&self, a: &Expr, b: &Expr) -> Expr {
        self.infix("*", TIMES, a, b, a.rep)
    }

    /// An operator of the table. `ty` is the type it is on, `ranges` those of its operands.
    pub fn apply(&mut self, operator: Operator, args: &[Expr], ty: Ty, ranges: &[Range]) -> Result<Expr, EmitError> {
        self.ty(ty)?;
        if operator.row().signature == Signature::Select {
            let rep = if ty == Ty::I64 { ranges[1].union(ranges[2]).ty() } else { ty };
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
                let wide = match test {
                    true => operands.ty(),
                    false if ranges::counts_width(operator, ranges) => Ty::I64,
                    false => all.ty(),
                };
                let wraps = !test && !all.within(Range::FULL);
                let value = self.on_ints(operator, args, wide, wraps, ranges.last().copied())?;
                // Bits are shifted left as those of an unsigned number; a negative one must widen as such.
                if operator == Operator::Shl { self.to(&value, wide) } else { Ok(value) }
            }
            ty => self.on_ints(operator, args, ty, true, None),
        }
    }

    fn on_bools(&mut self, operator: Operator, args: &[Expr]) -> Result<Expr, EmitError> {
        let args: Vec<Expr> = args.iter().map(|a| self.to(a, Ty::Bool)).collect::<Result<_, _>>()?;
        Ok(match operator {
            Operator::And => self.infix("&&", BOTH, &args[0], &args[1], Ty::Bool),
            Operator::Or => self.infix("||", EITHER, &args[0], &args[1], Ty::Bool),
            Operator::Xor => self.infix("!=", EQUALITY, &args[0], &args[1], Ty::Bool),
            Operator::Not => {
                let text = format!("!{}", args[0].operand());
                Expr { text, prec: UNARY, rep: Ty::Bool, literal: None, reads: args[0].reads }
            }
            _ => self.comparison(operator, &args[0], &args[1]),
        })
    }

    fn comparison(&self, operator: Operator, a: &Expr, b: &Expr) -> Expr {
        let prec = if matches!(operator, Operator::Eq | Operator::Ne) { EQUALITY } else { RELATION };
        self.infix(operator.row().infix.unwrap_or("=="), prec, a, b, Ty::Bool)
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
        let speller = Speller(self.dialect);
        let fits = |x: Expr, this: &Self| -> Result<Expr, EmitError> {
            if small { this.to(&Expr { rep: Ty::I32, ..x }, ty) } else { Ok(x) }
        };
        let strict = |this: &Self| args.iter().map(|a| this.to(a, ty)).collect::<Result<Vec<_>, _>>();
        let constant = args.last().and_then(|a| a.literal).map(Scalar::as_int);
        Ok(match operator {
            Operator::Add | Operator::Sub | Operator::Mul => {
                let (sign, prec) = match operator {
                    Operator::Add => ("+", PLUS),
                    Operator::Sub => ("-", PLUS),
                    _ => ("*", TIMES),
                };
                // Small integers are computed in int, and two of u16 may be past that.
                let rep = match ty {
                    Ty::U16 if operator == Operator::Mul => Ty::U32,
                    _ if small => ty,
                    _ if wraps => unsigned(ty),
                    _ => ty,
                };
                let args = self.together(args, rep)?;
                fits(self.infix(sign, prec, &args[0], &args[1], rep), self)?
            }
            Operator::Fma => {
                let product = self.on_ints(Operator::Mul, &args[..2], ty, wraps, None)?;
                self.on_ints(Operator::Add, &[product, args[2].clone()], ty, wraps, None)?
            }
            Operator::Neg => {
                let rep = if wraps && !small { unsigned(ty) } else { ty };
                fits(self.negated(&self.to(&args[0], rep)?, rep), self)?
            }
            Operator::Div | Operator::Rem => {
                let safe = match (constant, last) {
                    (Some(n), _) => n != 0 && n != -1,
                    (None, Some(range)) => range.lo > 0,
                    (None, None) => false,
                };
                if safe {
                    let args = self.together(args, ty)?;
                    let sign = if operator == Operator::Div { "/" } else { "%" };
                    fits(self.infix(sign, TIMES, &args[0], &args[1], ty), self)?
                } else {
                    let name = helpers::divide(&speller, operator, ty, self.helpers);
                    Expr::call(&name, &strict(self)?, ty)
                }
            }
            Operator::Abs if !ty.is_signed() => self.to(&args[0], ty)?,
            Operator::Abs => Expr::call(&helpers::absolute(&speller, ty, self.helpers), &strict(self)?, ty),
            Operator::Sign => Expr::call(&helpers::sign(&speller, ty, self.helpers), &strict(self)?, ty),
            Operator::Min | Operator::Max if ty.bits() == 64 => {
                let name = helpers::extreme(&speller, operator, ty, self.helpers);
                Expr::call(&name, &strict(self)?, ty)
            }
            Operator::Min | Operator::Max => {
                let rep = if small { Ty::I32 } else { ty };
                let args: Vec<Expr> = args.iter().map(|a| self.to(a, rep)).collect::<Result<_, _>>()?;
                fits(Expr::call(operator.name(), &args, rep), self)?
            }
            Operator::Clamp => {
                let low = self.on_ints(Operator::Max, &args[..2], ty, wraps, None)?;
                self.on_ints(Operator::Min, &[low, args[2].clone()], ty, wraps, None)?
            }
            Operator::And | Operator::Or | Operator::Xor => {
                let args = strict(self)?;
                fits(self.infix(operator.row().infix.unwrap_or("&"), BITS, &args[0], &args[1], ty), self)?
            }
            Operator::Not => {
                let x = self.to(&args[0], ty)?;
                fits(Expr { text: format!("~{}", x.operand()), prec: UNARY, literal: None, ..x }, self)?
            }
            Operator::Shl | Operator::Shr => self.shift(operator, args, ty, fits)?,
            Operator::Popcount | Operator::LeadingZeros | Operator::TrailingZeros => {
                self.bit_count(operator, &args[0], ty)?
            }
            _ => {
                let args = self.together(args, ty)?;
                self.comparison(operator, &args[0], &args[1])
            }
        })
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
            Some(n) => self.literal(Scalar::from_int(Ty::I32, n.as_int().rem_euclid(bits))),
            None => {
                let mask = self.literal(Scalar::from_int(ty, bits - 1));
                let amount = self.infix("&", BITS, &self.to(&args[1], ty)?, &mask, ty);
                self.to(&amount, Ty::I32)?
            }
        };
        if operator == Operator::Shr {
            return fits(self.infix(">>", SHIFT, &self.to(&args[0], ty)?, &amount, ty), self);
        }
        let rep = if ty.bits() < 32 { Ty::U32 } else { unsigned(ty) };
        let value = self.to(&self.to(&args[0], ty)?, rep)?;
        fits(self.infix("<<", SHIFT, &value, &amount, rep), self)
    }

    fn bit_count(&mut self, operator: Operator, x: &Expr, ty: Ty) -> Result<Expr, EmitError> {
        let bits = ty.bits();
        if bits == 64 {
            let name = helpers::count_bits(&Speller(self.dialect), operator, self.helpers);
            let x = self.to(&self.to(x, ty)?, Ty::U64)?;
            return Ok(Expr::call(&name, &[x], Ty::U64));
        }
        let name = self.dialect.function(operator).unwrap_or_default();
        let x = self.to(&self.to(&self.to(x, ty)?, unsigned(ty))?, Ty::U32)?;
        let number = |n: u32| self.literal(Scalar::from_int(Ty::U32, n.into()));
        Ok(match operator {
            // A bit past the top ends the search in a small integer.
            Operator::TrailingZeros if bits < 32 => {
                let x = self.infix("|", BITS, &x, &number(1 << bits), Ty::U32);
                Expr::call(name, &[x], Ty::U32)
            }
            Operator::LeadingZeros if bits < 32 => {
                self.infix("-", PLUS, &Expr::call(name, &[x], Ty::U32), &number(32 - bits), Ty::U32)
            }
            _ => Expr::call(name, &[x], Ty::U32),
        })
    }

    fn on_floats(&mut self, operator: Operator, args: &[Expr], ty: Ty) -> Result<Expr, EmitError> {
        let plain = |this: &Self, sign: &str, prec| this.infix(sign, prec, &args[0], &args[1], ty);
        Ok(match operator {
            Operator::Add => plain(self, "+", PLUS),
            Operator::Sub => plain(self, "-", PLUS),
            Operator::Mul => plain(self, "*", TIMES),
            Operator::Div => plain(self, "/", TIMES),
            Operator::Neg => self.negated(&args[0], ty),
            Operator::Recip => self.infix("/", TIMES, &self.literal(Scalar::from_f64(ty, 1.0)), &args[0], ty),
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge | Operator::Eq | Operator::Ne => {
                self.comparison(operator, &args[0], &args[1])
            }
            // Half precision is computed in single precision and rounded.
            _ => {
                let wide: Vec<Expr> = args
                    .iter()
                    .map(|a| if a.rep.is_float() { self.to_float(a) } else { Ok(a.clone()) })
                    .collect::<Result<_, _>>()?;
                let value = self.on_f32(operator, &wide)?;
                if value.rep == Ty::F32 { self.to(&value, ty)? } else { value }
            }
        })
    }

    fn to_float(&self, x: &Expr) -> Result<Expr, EmitError> {
        match x.literal {
            Some(value) => Ok(self.literal(value.cast(Ty::F32))),
            None => self.to(x, Ty::F32),
        }
    }

    fn on_f32(&mut self, operator: Operator, args: &[Expr]) -> Result<Expr, EmitError> {
        let speller = Speller(self.dialect);
        let ty = Ty::F32;
        Ok(match operator {
            Operator::Min | Operator::Max => {
                Expr::call(&helpers::extreme(&speller, operator, ty, self.helpers), args, ty)
            }
            Operator::Clamp => {
                let max = helpers::extreme(&speller, Operator::Max, ty, self.helpers);
                let min = helpers::extreme(&speller, Operator::Min, ty, self.helpers);
                Expr::call(&min, &[Expr::call(&max, &args[..2], ty), args[2].clone()], ty)
            }
            Operator::Sign => Expr::call(&helpers::sign(&speller, ty, self.helpers), args, ty),
            Operator::IsNan => Expr::call("isnan", args, Ty::Bool),
            Operator::IsFinite => Expr::call("isfinite", args, Ty::Bool),
            _ => match self.dialect.function(operator) {
                Some(name) => Expr::call(name, args, ty),
                None => {
                    let mut args = args.to_vec();
                    if operator == Operator::Powi {
                        args[1] = self.to(&args[1], Ty::I32)?;
                    }
                    Expr::call(&helpers::mathematics(&speller, operator, self.helpers), &args, ty)
                }
            },
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
                self.infix("!=", EQUALITY, &x, &self.literal(zero), Ty::Bool)
            }
            _ if from.is_float() && to.is_float() => self.to(&self.to_float(&x)?, to)?,
            _ if from.is_float() => {
                let name = helpers::to_int(&Speller(self.dialect), to, self.helpers);
                Expr::call(&name, &[self.to_float(&x)?], to)
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
        let text = if from.is_float() || to.is_float() {
            // A bare literal of 8 or 16 bits is an int in C.
            let x = if x.literal.is_some() && from.bits() < 32 && !from.is_float() {
                format!("({}){}", self.ty(from)?, x.operand())
            } else {
                x.text.clone()
            };
            self.dialect.bits(self.ty(to)?, &x)
        } else {
            return self.to(&x, to);
        };
        Ok(Expr { text, prec: ATOM, rep: to, literal: None, reads: x.reads })
    }
}
