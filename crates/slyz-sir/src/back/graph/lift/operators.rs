//! Operators of the table in terms of those that a format has.
//!
//! Where nothing more is asked than native precision, a function is written by the nearest ones, as `ln(1 + x)` (`native.txt`). What the table says about
//! NaN and about conversions that overflow is kept where more is asked.

use super::super::table::{self, Expression};
use super::super::{GraphError, NodeId};
use super::Lift;
use super::value::{Value, joined};
use crate::choices::Precision;
use crate::ops::{Operator, Signature};
use crate::types::{Scalar, Ty, int_range};

impl Lift<'_> {
    pub(super) fn operator(&mut self, operator: Operator, args: &[Value]) -> Result<Value, GraphError> {
        let axes = joined(args);
        let nodes: Vec<NodeId> = args.iter().map(|arg| self.aligned(arg, &axes, 0)).collect();
        let node = self.apply(operator, &nodes)?;
        let value = Value { node, axes, rank: 0, place: self.place(operator, args) };
        if let (Operator::Mul, [a, b]) = (operator, args) {
            self.products.insert(value.key(), (a.clone(), b.clone()));
        }
        self.note_bounds(operator, args, &value);
        Ok(value)
    }

    pub(super) fn cast(&mut self, ty: Ty, arg: &Value) -> Result<Value, GraphError> {
        let from = self.maker.ty(arg.node);
        let node = match (from, ty) {
            (from, to) if from == to => return Ok(arg.clone()),
            (_, Ty::Bool) => {
                let zero = self.constant(from, 0.0);
                self.apply(Operator::Ne, &[arg.node, zero])?
            }
            (from, to) if from.is_float() && !to.is_float() => self.saturated(arg.node, to)?,
            (_, to) => self.maker.cast(to, arg.node),
        };
        Ok(Value { node, axes: arg.axes.clone(), rank: 0, place: None })
    }

    /// A float as an integer: the nearest that there is, and 0 of a NaN.
    fn saturated(&mut self, float: NodeId, to: Ty) -> Result<NodeId, GraphError> {
        let near = self.maker.cast(to, float);
        if self.format.precision == Precision::Native {
            return Ok(near);
        }
        let from = self.maker.ty(float);
        let (low, high) = int_range(to);
        let past = self.constant(from, high as f64);
        let below = self.constant(from, low as f64);
        let highest = self.maker.scalar(Scalar::from_int(to, high));
        let lowest = self.maker.scalar(Scalar::from_int(to, low));
        let zero = self.maker.scalar(Scalar::from_int(to, 0));
        let is_high = self.apply(Operator::Ge, &[float, past])?;
        let is_low = self.maker.apply(Operator::Le, &[float, below]);
        let is_nan = self.apply(Operator::IsNan, &[float])?;
        let value = self.maker.select(is_high, highest, near);
        let value = self.maker.select(is_low, lowest, value);
        Ok(self.maker.select(is_nan, zero, value))
    }

    fn constant(&mut self, ty: Ty, value: f64) -> NodeId {
        self.maker.scalar(Scalar::from_f64(ty, value))
    }

    /// An operator on nodes that meet.
    pub(super) fn apply(&mut self, operator: Operator, args: &[NodeId]) -> Result<NodeId, GraphError> {
        use Operator as O;
        if args.iter().all(|&arg| self.maker.as_scalar(arg).is_some()) {
            return Ok(self.maker.apply(operator, args));
        }
        let ty = self.maker.ty(args[args.len() - 1]);
        let exact = self.format.precision != Precision::Native;
        let own = (self.format.has)(operator, ty);
        Ok(match (operator, args) {
            (O::Min | O::Max, [a, b]) if exact && ty.is_float() => {
                let test = if operator == O::Min { O::Lt } else { O::Gt };
                let wins = self.apply(test, &[*a, *b])?;
                let nan = self.apply(O::IsNan, &[*b])?;
                let first = self.maker.apply(O::Or, &[wins, nan]);
                self.maker.select(first, *a, *b)
            }
            // OpenVINO's CPU says of a NaN that it is greater; it does not say that it is less.
            (O::Gt, [a, b]) if ty.is_float() => self.maker.apply(O::Lt, &[*b, *a]),
            (O::Ge, [a, b]) if ty.is_float() => self.maker.apply(O::Le, &[*b, *a]),
            (O::Select, [cond, yes, no]) => self.maker.select(*cond, *yes, *no),
            (O::Div, [a, b]) if ty.is_int() => {
                let b = self.divisor(*b);
                self.quotient(*a, b)?
            }
            (O::Rem, [a, b]) if ty.is_int() => {
                let b = self.divisor(*b);
                let quotient = self.quotient(*a, b)?;
                let whole = self.maker.apply(O::Mul, &[quotient, b]);
                self.maker.apply(O::Sub, &[*a, whole])
            }
            (O::Lt | O::Le | O::Gt | O::Ge, [a, b]) if ty == Ty::Bool => {
                let [a, b] = [a, b].map(|node| self.maker.cast(Ty::I32, *node));
                self.maker.apply(operator, &[a, b])
            }
            (O::Shl | O::Shr, [x, by]) if own => {
                let mask = self.maker.scalar(Scalar::from_int(ty, (ty.bits() - 1).into()));
                let by = self.maker.apply(O::And, &[*by, mask]);
                self.maker.apply(operator, &[*x, by])
            }
            _ if own && !(exact && operator == O::Round) => self.maker.apply(operator, args),
            _ => return self.expanded(operator, args),
        })
    }

    /// A divisor that is not zero: `x / 0` is `x`, and so is `x / 1`.
    fn divisor(&mut self, divisor: NodeId) -> NodeId {
        let ty = self.maker.ty(divisor);
        match self.maker.as_scalar(divisor) {
            Some(number) if number.as_int() != 0 => divisor,
            _ => {
                let zero = self.maker.scalar(Scalar::from_int(ty, 0));
                let one = self.maker.scalar(Scalar::from_int(ty, 1));
                let is_zero = self.maker.apply(Operator::Eq, &[divisor, zero]);
                self.maker.select(is_zero, one, divisor)
            }
        }
    }

    /// A quotient toward zero.
    fn quotient(&mut self, a: NodeId, b: NodeId) -> Result<NodeId, GraphError> {
        let near = self.maker.apply(Operator::Div, &[a, b]);
        if self.format.precision == Precision::Native || self.maker.as_scalar(near).is_some() {
            return Ok(near);
        }
        // OpenVINO's CPU divides integers as floats: what is left is divided once more, and a last one given back.
        let rest = self.rest(a, near, b);
        let more = self.maker.apply(Operator::Div, &[rest, b]);
        let near = self.maker.apply(Operator::Add, &[near, more]);
        let rest = self.rest(a, near, b);
        let zero = self.maker.scalar(Scalar::from_int(self.maker.ty(a), 0));
        let sides = [a, b, rest].map(|number| self.maker.apply(Operator::Lt, &[number, zero]));
        let is_left = self.maker.apply(Operator::Ne, &[rest, zero]);
        let turned = self.maker.apply(Operator::Ne, &[sides[0], sides[2]]);
        let past = self.maker.apply(Operator::And, &[is_left, turned]);
        let one = self.maker.scalar(Scalar::from_int(self.maker.ty(a), 1));
        let minus = self.maker.scalar(Scalar::from_int(self.maker.ty(a), -1));
        let opposite = self.maker.apply(Operator::Ne, &[sides[0], sides[1]]);
        let by = self.maker.select(opposite, one, minus);
        let by = self.maker.select(past, by, zero);
        Ok(self.maker.apply(Operator::Add, &[near, by]))
    }

    /// `a - quotient * b`.
    fn rest(&mut self, a: NodeId, quotient: NodeId, b: NodeId) -> NodeId {
        let whole = self.maker.apply(Operator::Mul, &[quotient, b]);
        self.maker.apply(Operator::Sub, &[a, whole])
    }

    /// An operator that the format lacks, by others.
    fn expanded(&mut self, operator: Operator, args: &[NodeId]) -> Result<NodeId, GraphError> {
        let of = self.maker.ty(args[0]);
        if let (Signature::IntPower, [x, power]) = (operator.row().signature, args) {
            return match self.maker.as_i64(*power) {
                Some(power @ -8..=8) => self.squared(*x, power),
                _ => {
                    let power = self.maker.cast(of, *power);
                    self.apply(Operator::Pow, &[*x, power])
                }
            };
        }
        match table::native(operator) {
            Some(expression) if operator.row().domain.has(of) && of != Ty::Bool => self.expression(&expression, args),
            _ => {
                let what = format!("`{}` on {of}", operator.name());
                self.lacks(what, "compute it by other operators, or build for the target c")
            }
        }
    }

    fn expression(&mut self, expression: &Expression, operands: &[NodeId]) -> Result<NodeId, GraphError> {
        match expression {
            Expression::Operand(number) => Ok(operands[*number]),
            Expression::Number(number) => Ok(self.constant(self.maker.ty(operands[0]), *number)),
            Expression::Apply(operator, args) => {
                let args: Vec<NodeId> =
                    args.iter().map(|arg| self.expression(arg, operands)).collect::<Result<_, _>>()?;
                self.apply(*operator, &args)
            }
        }
    }

    /// A small power by squaring, as the table says.
    fn squared(&mut self, base: NodeId, power: i64) -> Result<NodeId, GraphError> {
        let ty = self.maker.ty(base);
        let mut square = base;
        let mut left = power.unsigned_abs();
        let mut product = self.constant(ty, 1.0);
        let mut started = false;
        while left != 0 {
            if left & 1 != 0 {
                product = if started { self.apply(Operator::Mul, &[product, square])? } else { square };
                started = true;
            }
            left >>= 1;
            if left != 0 {
                square = self.apply(Operator::Mul, &[square, square])?;
            }
        }
        if power >= 0 {
            return Ok(product);
        }
        let one = self.constant(ty, 1.0);
        self.apply(Operator::Div, &[one, product])
    }
}
