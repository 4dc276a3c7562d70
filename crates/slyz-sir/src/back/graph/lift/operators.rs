//! Operators of the table in terms of those that a format has.
//!
//! Where nothing more is asked than native precision, a function is written by the nearest ones, as `ln(1 + x)`. What the table says about
//! NaN and about conversions that overflow is kept where more is asked.

use super::super::{GraphError, NodeId};
use super::Lift;
use super::value::{Value, joined};
use crate::choices::Precision;
use crate::ops::Operator;
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
            _ => return self.expanded(operator, args, ty),
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
    fn expanded(&mut self, operator: Operator, args: &[NodeId], ty: Ty) -> Result<NodeId, GraphError> {
        use Operator as O;
        let first = args[0];
        let of = self.maker.ty(first);
        Ok(match (operator, args) {
            (O::Neg, [x]) => {
                let zero = if of.is_float() { self.constant(of, -0.0) } else { self.constant(of, 0.0) };
                self.maker.apply(O::Sub, &[zero, *x])
            }
            (O::Fma, [a, b, c]) => {
                let product = self.apply(O::Mul, &[*a, *b])?;
                self.apply(O::Add, &[product, *c])?
            }
            (O::Clamp, [x, low, high]) => {
                let above = self.apply(O::Max, &[*x, *low])?;
                self.apply(O::Min, &[above, *high])?
            }
            (O::Recip, [x]) => {
                let one = self.constant(of, 1.0);
                self.apply(O::Div, &[one, *x])?
            }
            (O::Rsqrt, [x]) => {
                let root = self.apply(O::Sqrt, &[*x])?;
                self.apply(O::Recip, &[root])?
            }
            (O::Cbrt, [x]) => {
                let third = self.constant(of, 1.0 / 3.0);
                let size = self.apply(O::Abs, &[*x])?;
                let root = self.apply(O::Pow, &[size, third])?;
                let sign = self.apply(O::Sign, &[*x])?;
                self.apply(O::Mul, &[sign, root])?
            }
            (O::Exp2, [x]) => {
                let two = self.constant(of, 2.0);
                self.apply(O::Pow, &[two, *x])?
            }
            (O::Expm1, [x]) => {
                let power = self.apply(O::Exp, &[*x])?;
                let one = self.constant(of, 1.0);
                self.apply(O::Sub, &[power, one])?
            }
            (O::Ln1p, [x]) => {
                let one = self.constant(of, 1.0);
                let more = self.apply(O::Add, &[*x, one])?;
                self.apply(O::Ln, &[more])?
            }
            (O::Log2 | O::Log10, [x]) => {
                let factor = if operator == O::Log2 { std::f64::consts::LOG2_E } else { std::f64::consts::LOG10_E };
                let factor = self.constant(of, factor);
                let natural = self.apply(O::Ln, &[*x])?;
                self.apply(O::Mul, &[natural, factor])?
            }
            (O::Powi, [x, power]) => match self.maker.as_i64(*power) {
                Some(power @ -8..=8) => self.squared(*x, power)?,
                _ => {
                    let power = self.maker.cast(of, *power);
                    self.apply(O::Pow, &[*x, power])?
                }
            },
            (O::Hypot, [a, b]) => {
                let a = self.apply(O::Mul, &[*a, *a])?;
                let b = self.apply(O::Mul, &[*b, *b])?;
                let sum = self.apply(O::Add, &[a, b])?;
                self.apply(O::Sqrt, &[sum])?
            }
            (O::Sinpi | O::Cospi, [x]) => {
                let pi = self.constant(of, std::f64::consts::PI);
                let angle = self.apply(O::Mul, &[*x, pi])?;
                self.apply(if operator == O::Sinpi { O::Sin } else { O::Cos }, &[angle])?
            }
            (O::Erfc, [x]) => {
                let error = self.apply(O::Erf, &[*x])?;
                let one = self.constant(of, 1.0);
                self.apply(O::Sub, &[one, error])?
            }
            (O::Trunc, [x]) => {
                let zero = self.constant(of, 0.0);
                let down = self.apply(O::Floor, &[*x])?;
                let up = self.apply(O::Ceil, &[*x])?;
                let negative = self.maker.apply(O::Lt, &[*x, zero]);
                self.maker.select(negative, up, down)
            }
            (O::Round, [x]) => {
                let whole = self.apply(O::Trunc, &[*x])?;
                let part = self.apply(O::Sub, &[*x, whole])?;
                let part = self.apply(O::Abs, &[part])?;
                let half = self.constant(of, 0.5);
                let away = self.apply(O::Le, &[half, part])?;
                let zero = self.constant(of, 0.0);
                let sign = self.apply(O::Sign, &[*x])?;
                let by = self.maker.select(away, sign, zero);
                self.apply(O::Add, &[whole, by])?
            }
            (O::Rem, [a, b]) if of.is_float() => {
                let quotient = self.apply(O::Div, &[*a, *b])?;
                let whole = self.apply(O::Trunc, &[quotient])?;
                let product = self.apply(O::Mul, &[whole, *b])?;
                self.apply(O::Sub, &[*a, product])?
            }
            (O::IsNan, [x]) => self.maker.apply(O::Ne, &[*x, *x]),
            (O::IsFinite, [x]) => {
                let size = self.apply(O::Abs, &[*x])?;
                let infinite = self.constant(of, f64::INFINITY);
                self.maker.apply(O::Lt, &[size, infinite])
            }
            (O::Atan2, [y, x]) => self.angle(*y, *x)?,
            (O::Xor, [a, b]) if of == Ty::Bool => self.maker.apply(O::Ne, &[*a, *b]),
            _ => {
                let what = format!("`{}` on {ty}", operator.name());
                return self.lacks(what, "compute it by other operators, or build for the target c");
            }
        })
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
        if power < 0 { self.apply(Operator::Recip, &[product]) } else { Ok(product) }
    }

    /// `atan2` by `atan`, quadrant by quadrant.
    fn angle(&mut self, y: NodeId, x: NodeId) -> Result<NodeId, GraphError> {
        use Operator as O;
        let ty = self.maker.ty(y);
        let zero = self.constant(ty, 0.0);
        let pi = self.constant(ty, std::f64::consts::PI);
        let half = self.constant(ty, std::f64::consts::FRAC_PI_2);
        let slope = self.apply(O::Div, &[y, x])?;
        let angle = self.apply(O::Atan, &[slope])?;
        let up = self.apply(O::Ge, &[y, zero])?;
        let down = self.apply(O::Neg, &[pi])?;
        let turn = self.maker.select(up, pi, down);
        let turned = self.apply(O::Add, &[angle, turn])?;
        let left = self.maker.apply(O::Lt, &[x, zero]);
        let wide = self.maker.select(left, turned, angle);
        let sign = self.apply(O::Sign, &[y])?;
        let upright = self.apply(O::Mul, &[sign, half])?;
        let vertical = self.maker.apply(O::Eq, &[x, zero]);
        Ok(self.maker.select(vertical, upright, wide))
    }
}
