//! Numbers whose type is not settled yet, by the rules that the checker has for kernels.
//!
//! The values are known, and the operators between them are applied when it is known which type is wanted: `let x: f64 = 1.0 / 3.0`
//! divides in `f64`, and an index that is a sum of `i32` is computed in `i64` from its leaves.

use super::{Outcome, error};
use crate::check::draft::Class;
use crate::check::rules;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use slyz_sir::ops::{Domain, Operator, Signature};
use slyz_sir::types::{Scalar, Ty, int_range};

/// A number, and what its type can be.
#[derive(Clone, Debug)]
pub(super) struct Number {
    class: Class,
    kind: Kind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A literal with its sign.
    Int(i128),
    /// The digits of a literal.
    Float { digits: String, negative: bool },
    /// A value.
    Value(Scalar),
    /// Operands and result share a type.
    Apply(Operator, Vec<Number>),
    /// The result depends on the width: computed in the operand's own type.
    Rigid(Operator, Box<Number>),
    /// Shifts and whole powers: the second operand has a type of its own.
    Beside(Operator, Box<Number>, Scalar),
}

impl Number {
    pub(super) fn value(value: Scalar, span: Span) -> Number {
        Number { class: Class::Fixed(value.ty), kind: Kind::Value(value), span }
    }

    pub(super) fn i64(value: u64, span: Span) -> Number {
        Number::value(Scalar::from_int(Ty::I64, i128::from(value)), span)
    }

    /// The value of a parameter: reads as `i64` where its own type is not wanted.
    pub(super) fn param(value: Scalar, span: Span) -> Number {
        let class = if value.ty.is_int() { Class::Param(value.ty) } else { Class::Fixed(value.ty) };
        Number { class, kind: Kind::Value(value), span }
    }

    pub(super) fn int(value: u128, ty: Option<Ty>, span: Span) -> Number {
        let value = i128::try_from(value).unwrap_or(i128::MAX);
        match ty {
            Some(ty) if ty.is_float() => Number::value(Scalar::from_int(ty, value), span),
            _ => Number { class: ty.map_or(Class::Int, Class::Fixed), kind: Kind::Int(value), span },
        }
    }

    pub(super) fn float(digits: &str, ty: Option<Ty>, span: Span) -> Number {
        let class = ty.map_or(Class::Float, Class::Fixed);
        Number { class, kind: Kind::Float { digits: digits.to_string(), negative: false }, span }
    }

    /// The type where none is wanted.
    pub(super) fn natural(&self) -> Ty {
        self.class.natural()
    }

    /// The same at another place of the text.
    pub(super) fn at(self, span: Span) -> Number {
        Number { span, ..self }
    }

    /// The number at the type it has where none is wanted.
    pub(super) fn settle(&self) -> Outcome<Scalar> {
        self.push_down(self.natural())
    }

    /// The number as a value of that type; `wish` is the first half of the sentence that says why it cannot be one.
    pub(super) fn want(&self, ty: Ty, wish: impl FnOnce() -> String) -> Outcome<Scalar> {
        if self.class.fits(ty) {
            return self.push_down(ty);
        }
        let found = self.natural();
        let help = match &self.kind {
            Kind::Int(value) if ty.is_float() => format!("write `{value}.0`"),
            _ if ty == Ty::Bool => "compare it, as in `x != 0`".to_string(),
            _ => format!("convert it: `.. as {ty}`"),
        };
        let message = format!("{} {ty}, but this is {found}", wish());
        Err(error(rules::MISMATCH, self.span, message).label(found.name()).help(help).into())
    }

    /// The number for a parameter of a kernel. The host counts in `i64`; an integer goes into a narrower parameter if it fits there,
    /// which is looked at: nothing wraps.
    pub(super) fn pass(&self, ty: Ty, wish: impl FnOnce() -> String) -> Outcome<Scalar> {
        if self.class.fits(ty) || !ty.is_int() || !self.natural().is_int() {
            return self.want(ty, wish);
        }
        let (value, (low, high)) = (self.settle()?.as_int(), int_range(ty));
        if (low..=high).contains(&value) {
            return Ok(Scalar::from_int(ty, value));
        }
        let message = format!("{} {ty}, and {value} is none: those go from {low} to {high}", wish());
        Err(error(rules::MISMATCH, self.span, message)
            .help("pass a smaller number, or declare the parameter wider")
            .into())
    }

    /// Every conversion, as written.
    pub(super) fn cast(&self, ty: Ty) -> Outcome<Scalar> {
        match self.class {
            Class::Int | Class::Float if self.class.fits(ty) => self.push_down(ty),
            // Its own type; as `i64` the value is the same.
            Class::Param(own) => Ok(self.push_down(own)?.cast(ty)),
            Class::Int | Class::Float | Class::Fixed(_) | Class::Wrong => Ok(self.settle()?.cast(ty)),
        }
    }

    /// `-x` of a literal is a literal.
    pub(super) fn negated(self, span: Span) -> Outcome<Number> {
        let kind = match self.kind {
            Kind::Int(value) => Kind::Int(-value),
            Kind::Float { digits, negative } => Kind::Float { digits, negative: !negative },
            kind => return apply(Operator::Neg, "-", span, vec![Number { kind, ..self }], span),
        };
        Ok(Number { kind, span, ..self })
    }

    /// It fits; its leaves get the type.
    fn push_down(&self, want: Ty) -> Outcome<Scalar> {
        match &self.kind {
            Kind::Int(value) => {
                let own = if let Class::Fixed(ty) = self.class { ty } else { want };
                let (low, high) = int_range(own);
                if !(low..=high).contains(value) {
                    let message = format!("`{value}` is no {own}: those go from {low} to {high}");
                    let help = match *value < low {
                        true if !own.is_signed() => "use a signed type",
                        _ if matches!(own, Ty::I64 | Ty::U64) => "use a float",
                        _ => "use a wider type",
                    };
                    return Err(error(rules::RANGE, self.span, message).help(help).into());
                }
                Ok(Scalar::from_int(want, *value))
            }
            Kind::Float { digits, negative } => self.float_value(digits, *negative, want),
            Kind::Value(value) => Ok(value.cast(want)),
            Kind::Apply(operator, args) => {
                let args: Vec<Scalar> = args.iter().map(|arg| arg.push_down(want)).collect::<Outcome<_>>()?;
                self.eval(*operator, &args)
            }
            Kind::Rigid(operator, operand) => {
                let ty = if let Class::Fixed(ty) = operand.class { ty } else { want };
                let operand = operand.push_down(ty)?;
                Ok(self.eval(*operator, &[operand])?.cast(want))
            }
            Kind::Beside(operator, first, second) => {
                let first = first.push_down(want)?;
                let second = if *operator == Operator::Powi { *second } else { second.cast(want) };
                self.eval(*operator, &[first, second])
            }
        }
    }

    /// Rounded once: via `f64` a near tie could be taken for a tie.
    fn float_value(&self, digits: &str, negative: bool, ty: Ty) -> Outcome<Scalar> {
        let value = match ty {
            Ty::F32 => digits.parse::<f32>().ok().map(f64::from),
            _ => digits.parse::<f64>().ok(),
        };
        let value = value.map(|value| Scalar::from_f64(ty, if negative { -value } else { value }));
        value.filter(|value| value.as_f64().is_finite()).ok_or_else(|| {
            let help = format!("f64 goes further; infinity is `{ty}.INFINITY`");
            error(rules::RANGE, self.span, format!("`{digits}` is too large for {ty}")).help(help).into()
        })
    }

    fn eval(&self, operator: Operator, args: &[Scalar]) -> Outcome<Scalar> {
        operator.eval(args).ok_or_else(|| {
            let message = format!("`{}` is not defined on {args:?}", operator.name());
            error(rules::OPERAND, self.span, message).help("convert the operands with `as`").into()
        })
    }
}

/// An operator of the table on numbers. `sign` is how it is written, `at` where.
pub(super) fn apply(operator: Operator, sign: &str, at: Span, mut args: Vec<Number>, span: Span) -> Outcome<Number> {
    let row = operator.row();
    if row.signature == Signature::Select {
        let (Some(otherwise), Some(then), Some(cond)) = (args.pop(), args.pop(), args.pop()) else {
            return Err(count(sign, at, row.arity).into());
        };
        let cond = cond.want(Ty::Bool, || "the condition of `select` is".to_string())?;
        let class = joined(&[then.clone(), otherwise.clone()], sign, at)?;
        let chosen = if cond.is_true() { then } else { otherwise };
        return Ok(Number { class, kind: chosen.kind, span });
    }
    let beside = matches!(operator, Operator::Shl | Operator::Shr | Operator::Powi);
    let second = if beside { args.pop() } else { None };
    let class = joined(&args, sign, at)?;
    let ty = class.natural();
    if !row.domain.has(ty) {
        return Err(outside_domain(row.domain, sign, at, ty, &args).into());
    }
    if row.signature == Signature::Test {
        let args: Vec<Scalar> = args.iter().map(|arg| arg.push_down(ty)).collect::<Outcome<_>>()?;
        let test = Number { class: Class::Fixed(Ty::Bool), kind: Kind::Int(0), span };
        return Ok(Number::value(test.eval(operator, &args)?, span));
    }
    let kind = match (second, operator) {
        (Some(second), Operator::Powi) => {
            let exponent = second.want(Ty::I32, || "the exponent of `powi` is".to_string())?;
            Kind::Beside(operator, Box::new(args.remove(0)), exponent)
        }
        (Some(second), _) => {
            if !second.natural().is_int() {
                let message = format!("`{sign}` shifts by a number of bits, but this is {}", second.natural());
                return Err(error(rules::MISMATCH, second.span, message).help("convert it: `.. as i32`").into());
            }
            Kind::Beside(operator, Box::new(args.remove(0)), second.settle()?)
        }
        (None, operator) if operator == Operator::Not || operator.sees_width() => {
            Kind::Rigid(operator, Box::new(args.remove(0)))
        }
        (None, _) => Kind::Apply(operator, args),
    };
    Ok(Number { class, kind, span })
}

/// An operator that is called with another number of operands.
pub(super) fn count(name: &str, at: Span, arity: usize) -> Diagnostic {
    let names: Vec<&str> = ["a", "b", "c"].into_iter().take(arity).collect();
    let message = format!("`{name}` takes {}", super::counted(arity, "argument"));
    error(rules::COUNT, at, message).help(format!("write `{name}({})`", names.join(", ")))
}

/// The type that the numbers of a list have together.
pub(super) fn together(numbers: &[Number], span: Span) -> Outcome<Ty> {
    Ok(joined(numbers, "[..]", span)?.natural())
}

/// What the operands can be together.
fn joined(args: &[Number], sign: &str, at: Span) -> Outcome<Class> {
    let mut classes = args.iter().map(|arg| arg.class);
    let Some(mut class) = classes.next() else { return Err(count(sign, at, 1).into()) };
    for (next, arg) in classes.zip(&args[1..]) {
        class = class.join(next).ok_or_else(|| unlike(class.natural(), args, arg, sign, at))?;
    }
    Ok(class)
}

fn unlike(ty: Ty, args: &[Number], arg: &Number, sign: &str, at: Span) -> Box<Diagnostic> {
    let other = arg.natural();
    let message = format!("`{sign}` of {ty} and {other}: no conversion between them is made by itself");
    let help = match (&args[0].kind, &arg.kind) {
        (Kind::Int(value), _) if other.is_float() => format!("write `{value}.0`"),
        (_, Kind::Int(value)) if ty.is_float() => format!("write `{value}.0`"),
        _ if ty == Ty::Bool || other == Ty::Bool => "compare the number, as in `x != 0`".to_string(),
        _ if other.is_float() && ty.is_int() => format!("convert the first: `.. as {other}`"),
        _ if other == Ty::U64 && ty.is_int() => "convert the second: `.. as i64`".to_string(),
        _ if ty == Ty::U64 && other.is_int() => "convert the first: `.. as i64`".to_string(),
        _ => format!("convert the second: `.. as {ty}`"),
    };
    let related = |error: Diagnostic| error.related(args[0].span, ty.name()).related(arg.span, other.name());
    related(error(rules::MISMATCH, at, message)).help(help).into()
}

fn outside_domain(domain: Domain, sign: &str, at: Span, ty: Ty, args: &[Number]) -> Diagnostic {
    let help = match args.first().map(|arg| &arg.kind) {
        Some(Kind::Int(value)) => format!("write `{value}.0`"),
        _ if ty.is_int() => "convert it: `.. as f32`".to_string(),
        _ => "convert it: `.. as i32`".to_string(),
    };
    error(rules::OPERAND, at, format!("`{sign}` is defined on {domain}, but this is {ty}")).help(help)
}
