//! Constants and the operators of the table.

use super::EmitError;
use super::writer::{Code, Origin, Value};
use crate::choices::Precision;
use crate::code::Id;
use crate::expand;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use naga::{
    BinaryOperator as Binary, Expression, Literal, LocalVariable, MathFunction, ScalarKind, Span, UnaryOperator,
};

impl Code<'_, '_> {
    pub(super) fn constant(&mut self, scalar: Scalar) -> Result<Value, EmitError> {
        let register = self.build.scalar(scalar.ty)?;
        if !scalar.ty.is_float() {
            return self.integer(scalar.ty, scalar.as_int());
        }
        let value = scalar.as_f64();
        if value.is_finite() {
            let literal = if register.width == 8 { Literal::F64(value) } else { Literal::F32(value as f32) };
            return Ok(self.literal(literal));
        }
        // No language has these as literals, and WGSL forbids constant expressions that make them: a variable hides the bits.
        let literal = match register.width {
            8 if self.build.target.int64 => Literal::U64(value.to_bits()),
            8 => return Err(self.build.lacks_int64("64-bit integers (the bits of an f64)")),
            _ => Literal::U32((value as f32).to_bits()),
        };
        let ty = self.build.scalar_ty(literal.scalar());
        let variable = LocalVariable { name: None, ty, init: None };
        let variable = self.function.local_variables.append(variable, Span::UNDEFINED);
        let pointer = self.append(Expression::LocalVariable(variable));
        let bits = self.literal(literal);
        self.store(pointer, bits);
        let bits = self.load(pointer);
        Ok(self.bits(bits, ScalarKind::Float))
    }

    /// An integer or `bool` constant. It fits the type.
    pub(super) fn integer(&mut self, ty: Ty, value: i128) -> Result<Value, EmitError> {
        let register = self.build.scalar(ty)?;
        let literal = match (register.kind, register.width) {
            (ScalarKind::Bool, _) => Literal::Bool(value != 0),
            (ScalarKind::Sint, 8) => Literal::I64(value as i64),
            (ScalarKind::Uint, 8) => Literal::U64(value as u64),
            (ScalarKind::Sint, _) if ty == Ty::I64 => match i32::try_from(value) {
                Ok(value) => Literal::I32(value),
                Err(_) => return Err(self.build.lacks_int64(&format!("64-bit integers (the constant {value})"))),
            },
            (ScalarKind::Sint, _) => Literal::I32(value as i32),
            _ => Literal::U32(value as u32),
        };
        Ok(self.literal(literal))
    }

    fn float(&mut self, ty: Ty, value: f64) -> Result<Value, EmitError> {
        self.constant(Scalar::from_f64(ty, value))
    }

    /// Back into the range of a narrow integer.
    pub(super) fn wrapped(&mut self, ty: Ty, value: Value) -> Value {
        match ty {
            Ty::U8 | Ty::U16 => {
                let mask = self.u32((1 << ty.bits()) - 1);
                self.binary(Binary::And, value, mask)
            }
            Ty::I8 | Ty::I16 => {
                let by = self.u32(32 - ty.bits());
                let up = self.binary(Binary::ShiftLeft, value, by);
                self.binary(Binary::ShiftRight, up, by)
            }
            _ => value,
        }
    }

    /// Rounded to half precision, where the type is one.
    pub(super) fn rounded(&mut self, ty: Ty, value: Value) -> Result<Value, EmitError> {
        match ty {
            Ty::F16 if self.has_own_halves() => {
                let word = self.own_word(&[value]);
                Ok(self.own_halves(word)[0])
            }
            Ty::F16 => self.helper(&expand::round_f16(), &[value]),
            Ty::BF16 => self.helper(&expand::round_bf16(), &[value]),
            _ => Ok(value),
        }
    }

    /// A call of a function with one result.
    pub(super) fn helper(&mut self, function: &crate::code::Function, args: &[Value]) -> Result<Value, EmitError> {
        let handle = self.build.function_of(function, Origin::Expansion)?;
        let result = self.call(handle, args.to_vec(), true);
        result.ok_or_else(|| self.build.form("a function without a result"))
    }

    /// A call of a function that mends what the target's own operators give.
    fn estimated(&mut self, function: &crate::code::Function, args: &[Value]) -> Result<Value, EmitError> {
        let handle = self.build.function_of(function, Origin::Estimate)?;
        let result = self.call(handle, args.to_vec(), true);
        result.ok_or_else(|| self.build.form("a function without a result"))
    }

    pub(super) fn not(&mut self, value: Value) -> Value {
        self.unary(UnaryOperator::LogicalNot, value)
    }

    /// An operator whose result has a name and a type that holds it.
    pub(super) fn apply(&mut self, operator: Operator, id: Id, held: Ty, args: &[Id]) -> Result<Value, EmitError> {
        if args.len() != operator.row().arity {
            return Err(self.build.form("an operator with too few operands"));
        }
        let ty = match (operator, args) {
            (Operator::Select, [.., last]) => self.named(*last)?.ty,
            (_, [first, ..]) => self.named(*first)?.ty,
            (_, []) => return Err(self.build.form("an operator without operands")),
        };
        if ty == Ty::I64 {
            return self.on_positions(operator, id, held, args);
        }
        let x: Vec<Value> = self.all(args)?.into_iter().map(|a| a.1).collect();
        if ty == Ty::Bool {
            return self.on_bools(operator, &x);
        }
        if ty.is_float() { self.on_floats(operator, ty, &x) } else { self.on_ints(operator, ty, &x) }
    }

    /// An operator on `i64` in as many bits as it needs.
    fn on_positions(&mut self, operator: Operator, id: Id, held: Ty, args: &[Id]) -> Result<Value, EmitError> {
        let ty = self.narrowing.computed(operator, id, args);
        let mut x = vec![];
        for &arg in args {
            let named = self.named(arg)?;
            x.push(if named.ty == Ty::I64 { self.resized(named.held, ty, named.value)? } else { named.value });
        }
        let value = self.on_ints(operator, ty, &x)?;
        match held {
            Ty::Bool => Ok(value),
            held => self.resized(ty, held, value),
        }
    }

    fn on_bools(&mut self, operator: Operator, x: &[Value]) -> Result<Value, EmitError> {
        Ok(match operator {
            Operator::And => self.binary(Binary::LogicalAnd, x[0], x[1]),
            Operator::Or => self.binary(Binary::LogicalOr, x[0], x[1]),
            Operator::Xor | Operator::Ne => self.binary(Binary::NotEqual, x[0], x[1]),
            Operator::Eq => self.binary(Binary::Equal, x[0], x[1]),
            Operator::Not => self.not(x[0]),
            Operator::Select => self.select(x[0], x[1], x[2]),
            Operator::Lt => {
                let not = self.not(x[0]);
                self.binary(Binary::LogicalAnd, not, x[1])
            }
            Operator::Gt => {
                let not = self.not(x[1]);
                self.binary(Binary::LogicalAnd, x[0], not)
            }
            Operator::Le => {
                let not = self.not(x[0]);
                self.binary(Binary::LogicalOr, not, x[1])
            }
            Operator::Ge => {
                let not = self.not(x[1]);
                self.binary(Binary::LogicalOr, x[0], not)
            }
            other => return Err(self.build.form(&format!("`{}` on bools", other.name()))),
        })
    }

    fn on_ints(&mut self, operator: Operator, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        let zero = self.integer(ty, 0)?;
        let value = match operator {
            Operator::Add => self.binary(Binary::Add, x[0], x[1]),
            Operator::Sub => self.binary(Binary::Subtract, x[0], x[1]),
            Operator::Mul => self.binary(Binary::Multiply, x[0], x[1]),
            Operator::Div => {
                let by = self.divisor(ty, x)?;
                self.binary(Binary::Divide, x[0], by)
            }
            Operator::Rem => {
                let by = self.divisor(ty, x)?;
                self.binary(Binary::Modulo, x[0], by)
            }
            Operator::Neg => self.binary(Binary::Subtract, zero, x[0]),
            Operator::Abs if ty.is_signed() => {
                let negative = self.binary(Binary::Subtract, zero, x[0]);
                let less = self.binary(Binary::Less, x[0], zero);
                self.select(less, negative, x[0])
            }
            Operator::Abs => x[0],
            Operator::Sign => {
                let one = self.integer(ty, 1)?;
                let more = self.binary(Binary::Greater, x[0], zero);
                let mut positive = self.select(more, one, zero);
                if !ty.is_signed() {
                    return Ok(positive);
                }
                // NVIDIA's compiler breaks down over some uses of signs that it recognises as such.
                let word = self.unknown_zero();
                let register = self.build.scalar(ty)?;
                let nothing = self.convert(word, register);
                positive = self.binary(Binary::InclusiveOr, positive, nothing);
                let minus = self.integer(ty, -1)?;
                let less = self.binary(Binary::Less, x[0], zero);
                self.select(less, minus, positive)
            }
            Operator::Min | Operator::Max => self.extreme(operator, x[0], x[1]),
            Operator::Clamp => {
                let low = self.extreme(Operator::Max, x[0], x[1]);
                self.extreme(Operator::Min, low, x[2])
            }
            Operator::Fma => {
                let product = self.binary(Binary::Multiply, x[0], x[1]);
                self.binary(Binary::Add, product, x[2])
            }
            Operator::Dot4 => {
                // Both have signs there: the bytes of the first are moved below, and what is missing is added.
                let [a, b] = [x[0], x[1]].map(|word| self.bits(word, ScalarKind::Uint));
                let middle = self.u32(0x8080_8080);
                let ones = self.u32(0x0101_0101);
                let moved = self.binary(Binary::ExclusiveOr, a, middle);
                let products = self.math(MathFunction::Dot4I8Packed, &[moved, b]);
                let missing = self.math(MathFunction::Dot4I8Packed, &[ones, b]);
                let many = self.integer(ty, 128)?;
                let missing = self.binary(Binary::Multiply, missing, many);
                let sum = self.binary(Binary::Add, products, missing);
                self.binary(Binary::Add, sum, x[2])
            }
            Operator::Lt => return Ok(self.binary(Binary::Less, x[0], x[1])),
            Operator::Le => return Ok(self.binary(Binary::LessEqual, x[0], x[1])),
            Operator::Gt => return Ok(self.binary(Binary::Greater, x[0], x[1])),
            Operator::Ge => return Ok(self.binary(Binary::GreaterEqual, x[0], x[1])),
            Operator::Eq => return Ok(self.binary(Binary::Equal, x[0], x[1])),
            Operator::Ne => return Ok(self.binary(Binary::NotEqual, x[0], x[1])),
            Operator::And => self.binary(Binary::And, x[0], x[1]),
            Operator::Or => self.binary(Binary::InclusiveOr, x[0], x[1]),
            Operator::Xor => self.binary(Binary::ExclusiveOr, x[0], x[1]),
            Operator::Not => self.unary(UnaryOperator::BitwiseNot, x[0]),
            Operator::Shl | Operator::Shr => {
                if ty == Ty::I64 && !self.build.target.int64 {
                    return Err(self.build.lacks_int64("64-bit integers (a shift of an i64)"));
                }
                let amount = self.amount(ty, x[1])?;
                let op = if operator == Operator::Shl { Binary::ShiftLeft } else { Binary::ShiftRight };
                self.binary(op, x[0], amount)
            }
            operator if operator.counts_bits() => {
                let count = self.counted_bits(operator, ty, x[0])?;
                let register = self.build.scalar(ty)?;
                return Ok(self.convert(count, register));
            }
            operator if operator.sees_width() => self.reversed_bits(operator, ty, x[0])?,
            Operator::Select => return self.chosen(ty, x),
            other => return Err(self.build.form(&format!("`{}` on {ty}", other.name()))),
        };
        Ok(self.wrapped(ty, value))
    }

    /// How far a shift goes: modulo the bits of the type.
    fn amount(&mut self, ty: Ty, by: Value) -> Result<Value, EmitError> {
        let known = match self.function.expressions[by] {
            Expression::Literal(Literal::U32(by)) => Some(by),
            Expression::Literal(Literal::I32(by)) => Some(by as u32),
            _ => None,
        };
        if let Some(by) = known {
            return Ok(self.u32(by & (ty.bits() - 1)));
        }
        let scalar = self.build.scalar(ty)?;
        let by = if scalar == naga::Scalar::U32 { by } else { self.convert(by, naga::Scalar::U32) };
        let mask = self.u32(ty.bits() - 1);
        Ok(self.binary(Binary::And, by, mask))
    }

    /// The divisor, or 1 where dividing by it is not defined: that gives what the table says, `x / 0 = x` and `x % 0 = 0`.
    fn divisor(&mut self, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        let nothing_special = match self.function.expressions[x[1]] {
            Expression::Literal(Literal::U32(by)) => by != 0,
            Expression::Literal(Literal::I32(by)) => by > 0,
            Expression::Literal(Literal::I64(by)) => by > 0,
            Expression::Literal(Literal::U64(by)) => by != 0,
            _ => false,
        };
        if nothing_special {
            return Ok(x[1]);
        }
        let zero = self.integer(ty, 0)?;
        let one = self.integer(ty, 1)?;
        let mut bad = self.binary(Binary::Equal, x[1], zero);
        if ty.is_signed() && ty.bits() >= 32 {
            let narrow = ty == Ty::I64 && !self.build.target.int64;
            let smallest = crate::types::int_range(if narrow { Ty::I32 } else { ty }).0;
            let smallest = self.integer(ty, smallest)?;
            let minus = self.integer(ty, -1)?;
            let low = self.binary(Binary::Equal, x[0], smallest);
            let turns = self.binary(Binary::Equal, x[1], minus);
            let over = self.binary(Binary::LogicalAnd, low, turns);
            bad = self.binary(Binary::LogicalOr, bad, over);
        }
        Ok(self.select(bad, one, x[1]))
    }

    fn extreme(&mut self, operator: Operator, a: Value, b: Value) -> Value {
        let op = if operator == Operator::Min { Binary::Less } else { Binary::Greater };
        let first = self.binary(op, a, b);
        self.select(first, a, b)
    }

    /// Numbers of bits, as `u32`.
    fn counted_bits(&mut self, operator: Operator, ty: Ty, x: Value) -> Result<Value, EmitError> {
        if ty.bits() == 64 {
            if !self.build.target.int64 {
                return Err(self.build.lacks_int64("64-bit integers (bits of an i64)"));
            }
            let x = self.bits(x, ScalarKind::Uint);
            let (low, high) = self.halves(x);
            let [of_low, of_high] = [low, high].map(|half| self.on_word(operator, half));
            let zero = self.u32(0);
            let word = self.u32(32);
            return Ok(match operator {
                Operator::Popcount => self.binary(Binary::Add, of_low, of_high),
                Operator::LeadingZeros => {
                    let more = self.binary(Binary::Add, of_low, word);
                    let none = self.binary(Binary::Equal, high, zero);
                    self.select(none, more, of_high)
                }
                _ => {
                    let more = self.binary(Binary::Add, of_high, word);
                    let none = self.binary(Binary::Equal, low, zero);
                    self.select(none, more, of_low)
                }
            });
        }
        let mut word = if ty.is_signed() { self.bits(x, ScalarKind::Uint) } else { x };
        if ty.bits() < 32 {
            let mask = self.u32((1 << ty.bits()) - 1);
            word = self.binary(Binary::And, word, mask);
            if operator == Operator::TrailingZeros {
                let stop = self.u32(1 << ty.bits());
                word = self.binary(Binary::InclusiveOr, word, stop);
            }
        }
        let count = self.on_word(operator, word);
        if operator == Operator::LeadingZeros && ty.bits() < 32 {
            let above = self.u32(32 - ty.bits());
            return Ok(self.binary(Binary::Subtract, count, above));
        }
        Ok(count)
    }

    /// The bits in the opposite order, in the register of the type; those of a narrow one may be past its range.
    fn reversed_bits(&mut self, operator: Operator, ty: Ty, x: Value) -> Result<Value, EmitError> {
        let register = self.build.scalar(ty)?;
        if ty.bits() == 64 {
            if !self.build.target.int64 {
                return Err(self.build.lacks_int64("64-bit integers (bits of an i64)"));
            }
            let x = self.bits(x, ScalarKind::Uint);
            let (low, high) = self.halves(x);
            let [of_low, of_high] =
                [low, high].map(|half| self.on_word(operator, half)).map(|word| self.convert(word, naga::Scalar::U64));
            let by = self.u32(32);
            let top = self.binary(Binary::ShiftLeft, of_low, by);
            let both = self.binary(Binary::InclusiveOr, top, of_high);
            return Ok(self.bits(both, register.kind));
        }
        let word = if ty.is_signed() { self.bits(x, ScalarKind::Uint) } else { x };
        let mut reversed = self.on_word(operator, word);
        if ty.bits() < 32 {
            let above = self.u32(32 - ty.bits());
            reversed = self.binary(Binary::ShiftRight, reversed, above);
        }
        Ok(self.bits(reversed, register.kind))
    }

    fn on_word(&mut self, operator: Operator, word: Value) -> Value {
        let fun = match operator {
            Operator::Popcount => MathFunction::CountOneBits,
            Operator::ReverseBits => MathFunction::ReverseBits,
            Operator::LeadingZeros => MathFunction::CountLeadingZeros,
            _ => MathFunction::CountTrailingZeros,
        };
        self.math(fun, &[word])
    }

    /// The low and the high word of a `u64`.
    pub(super) fn halves(&mut self, x: Value) -> (Value, Value) {
        let by = self.u32(32);
        let high = self.binary(Binary::ShiftRight, x, by);
        (self.convert(x, naga::Scalar::U32), self.convert(high, naga::Scalar::U32))
    }

    /// The bits of a float without its sign, and those of infinity.
    fn size_bits(&mut self, ty: Ty, x: Value) -> Result<(Value, Value), EmitError> {
        let wide = self.build.scalar(ty)?.width == 8;
        if wide && !self.build.target.int64 {
            return Err(self.build.lacks_int64("64-bit integers (the bits of an f64)"));
        }
        let (mask, infinity) = if wide {
            (Literal::U64(u64::MAX >> 1), Literal::U64(f64::INFINITY.to_bits()))
        } else {
            (Literal::U32(u32::MAX >> 1), Literal::U32(f32::INFINITY.to_bits()))
        };
        let mask = self.literal(mask);
        let infinity = self.literal(infinity);
        let bits = self.bits(x, ScalarKind::Uint);
        Ok((self.binary(Binary::And, bits, mask), infinity))
    }

    pub(super) fn is_nan(&mut self, ty: Ty, x: Value) -> Result<Value, EmitError> {
        // By bits: compilers of shaders may take it that there are no NaNs.
        let (size, infinity) = self.size_bits(ty, x)?;
        Ok(self.binary(Binary::Greater, size, infinity))
    }

    /// Are these the bits of the interpreter?
    fn is_exact(&self) -> bool {
        self.build.target.precision == Precision::Exact
    }

    /// Is arithmetic hidden from compilers that reassociate? At `Table` that of algorithms is, which count on every rounding.
    fn is_sealed(&self) -> bool {
        match self.build.target.precision {
            Precision::Exact => true,
            Precision::Table => self.expanded,
            Precision::Native => false,
        }
    }

    /// The target's own function for an operator, where that is precise enough.
    fn own_function(&self, operator: Operator, ty: Ty) -> Option<MathFunction> {
        if self.build.target.precision != Precision::Native || ty == Ty::F64 {
            return None;
        }
        Some(match operator {
            Operator::Min => MathFunction::Min,
            Operator::Max => MathFunction::Max,
            Operator::Clamp => MathFunction::Clamp,
            Operator::Sign => MathFunction::Sign,
            Operator::Round => MathFunction::Round,
            Operator::Rsqrt => MathFunction::InverseSqrt,
            Operator::Exp => MathFunction::Exp,
            Operator::Exp2 => MathFunction::Exp2,
            Operator::Ln => MathFunction::Log,
            Operator::Log2 => MathFunction::Log2,
            Operator::Sin => MathFunction::Sin,
            Operator::Cos => MathFunction::Cos,
            Operator::Tan => MathFunction::Tan,
            Operator::Asin => MathFunction::Asin,
            Operator::Acos => MathFunction::Acos,
            Operator::Atan => MathFunction::Atan,
            Operator::Atan2 => MathFunction::Atan2,
            Operator::Sinh => MathFunction::Sinh,
            Operator::Cosh => MathFunction::Cosh,
            Operator::Tanh => MathFunction::Tanh,
            Operator::Fma => MathFunction::Fma,
            _ => return None,
        })
    }

    /// Must a quotient or root be mended?
    fn mends(&self, ty: Ty, exact: bool) -> bool {
        self.is_exact() && ty != Ty::F64 && self.build.target.fused && !exact && !self.estimates
    }

    fn on_floats(&mut self, operator: Operator, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        let target = self.build.target;
        if let Some(function) = self.own_function(operator, ty) {
            let value = self.math(function, x);
            return self.rounded(ty, value);
        }
        let value = match operator {
            Operator::Add => self.sealed(Binary::Add, ty, x)?,
            Operator::Sub => self.sealed(Binary::Subtract, ty, x)?,
            Operator::Mul => self.sealed(Binary::Multiply, ty, x)?,
            Operator::Div if self.mends(ty, target.exact_division) => {
                let by_one = matches!(self.function.expressions[x[0]], Expression::Literal(Literal::F32(1.0)));
                let (function, x) =
                    if by_one { (expand::exact_reciprocal(), &x[1..]) } else { (expand::exact_quotient(), x) };
                self.estimated(&function, x)?
            }
            Operator::Recip if self.mends(ty, target.exact_division) => {
                self.estimated(&expand::exact_reciprocal(), x)?
            }
            Operator::Sqrt if self.mends(ty, target.exact_root) => self.estimated(&expand::exact_root(), x)?,
            Operator::Rsqrt if self.estimates => self.math(MathFunction::InverseSqrt, x),
            Operator::Div => self.uncancelled(Binary::Divide, ty, x)?,
            Operator::Recip => {
                let one = self.float(ty, 1.0)?;
                self.binary(Binary::Divide, one, x[0])
            }
            Operator::Neg => return Ok(self.unary(UnaryOperator::Negate, x[0])),
            Operator::Abs => return Ok(self.math(MathFunction::Abs, x)),
            Operator::Sign => {
                let zero = self.float(ty, 0.0)?;
                let one = self.float(ty, 1.0)?;
                let minus = self.float(ty, -1.0)?;
                let more = self.binary(Binary::Greater, x[0], zero);
                let less = self.binary(Binary::Less, x[0], zero);
                let value = self.chosen(ty, &[less, minus, x[0]])?;
                return Ok(self.select(more, one, value));
            }
            Operator::Min | Operator::Max => return self.float_extreme(operator, ty, x[0], x[1]),
            Operator::Clamp => {
                let low = self.float_extreme(Operator::Max, ty, x[0], x[1])?;
                return self.float_extreme(Operator::Min, ty, low, x[2]);
            }
            Operator::Fma if self.build.target.fused && ty != Ty::F64 => self.math(MathFunction::Fma, x),
            Operator::Fma if !self.is_exact() => {
                let product = self.sealed(Binary::Multiply, ty, &x[..2])?;
                self.sealed(Binary::Add, ty, &[product, x[2]])?
            }
            Operator::Fma => {
                let function = match ty {
                    Ty::F64 => expand::fma_by_words(Ty::F64),
                    _ if self.build.target.float64 && self.build.target.int64 => expand::fma_by_f64(),
                    _ => expand::fma_by_words(Ty::F32),
                };
                self.helper(&function, x)?
            }
            Operator::Floor => return Ok(self.math(MathFunction::Floor, x)),
            Operator::Ceil => return Ok(self.math(MathFunction::Ceil, x)),
            Operator::Trunc => return Ok(self.math(MathFunction::Trunc, x)),
            Operator::Sqrt => self.math(MathFunction::Sqrt, x),
            Operator::Lt => return Ok(self.binary(Binary::Less, x[0], x[1])),
            Operator::Le => return Ok(self.binary(Binary::LessEqual, x[0], x[1])),
            Operator::Gt => return Ok(self.binary(Binary::Greater, x[0], x[1])),
            Operator::Ge => return Ok(self.binary(Binary::GreaterEqual, x[0], x[1])),
            Operator::Eq => return Ok(self.binary(Binary::Equal, x[0], x[1])),
            Operator::Ne => {
                // `!=` of naga is false where one is a NaN.
                let equal = self.binary(Binary::Equal, x[0], x[1]);
                return Ok(self.not(equal));
            }
            Operator::Select => return self.chosen(ty, x),
            Operator::IsNan => return self.is_nan(ty, x[0]),
            Operator::IsFinite => {
                let (size, infinity) = self.size_bits(ty, x[0])?;
                return Ok(self.binary(Binary::Less, size, infinity));
            }
            Operator::And | Operator::Or | Operator::Xor | Operator::Not | Operator::Shl | Operator::Shr => {
                return Err(self.build.form(&format!("`{}` on {ty}", operator.name())));
            }
            // What is made of simpler operators; whoever has no expansion either is refused.
            operator => {
                let computed = if ty == Ty::F64 { Ty::F64 } else { Ty::F32 };
                let fused = self.build.target.fused && computed == Ty::F32;
                let paired = !self.build.target.fused && computed == Ty::F32 && !self.is_exact();
                let means = expand::Means { fused, paired, lanes: false };
                let Some(function) = expand::operator_by(means, operator, computed) else {
                    return Err(EmitError::Operator { kernel: self.build.kernel.name.clone(), operator, ty });
                };
                self.helper(&function, x)?
            }
        };
        self.rounded(ty, value)
    }

    /// Arithmetic that the driver can neither contract nor reassociate, as both change results: Mesa makes `x` of
    /// `(x + c) - c`, and others one rounding of `a * b + c`.
    fn sealed(&mut self, op: Binary, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        let value = self.uncancelled(op, ty, x)?;
        self.hidden(ty, value)
    }

    /// Arithmetic of which the driver cannot tell the result from the operands alone: `x - x` is no 0 where `x` is infinite, nor
    /// is `x * 0`.
    fn uncancelled(&mut self, op: Binary, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        if self.build.target.precision == Precision::Native {
            return Ok(self.binary(op, x[0], x[1]));
        }
        let mut operands = [x[0], x[1]];
        let mut seen_zero = false;
        for operand in &mut operands {
            // Mesa's llvmpipe makes 0 of products with a zero that it sees, and of quotients by it, whatever it is asked.
            if self.is_zero(*operand) {
                *operand = self.unforeseen(ty, *operand)?;
                seen_zero = true;
            }
        }
        let [a, b] = operands;
        let b = match self.opposes(op, a, b) {
            _ if seen_zero => b,
            true if a == b || self.build.target.reassociates => self.unforeseen(ty, b)?,
            true | false => b,
        };
        Ok(self.binary(op, a, b))
    }

    /// Would equal operands cancel each other?
    fn opposes(&self, op: Binary, a: Value, b: Value) -> bool {
        let expression = |value: Value| &self.function.expressions[value];
        let is_literal = |value: Value| matches!(expression(value), Expression::Literal(_));
        let is_negated = |value: Value| matches!(expression(value), Expression::Unary { .. });
        match op {
            Binary::Subtract | Binary::Divide => !is_literal(a) && !is_literal(b),
            Binary::Add => is_negated(a) || is_negated(b),
            _ => false,
        }
    }

    /// One of two values. Mesa makes `-f32(condition)` of a choice between -1 and 0, whose 0 is negative, and sees -1 in integers
    /// with the same bits, too. NVIDIA's compiler loses the high word of some choices between 64-bit numbers of which one is 0, in
    /// loops that it unrolls.
    fn chosen(&mut self, ty: Ty, x: &[Value]) -> Result<Value, EmitError> {
        let bits = [x[1], x[2]].map(|value| self.literal_bits(value));
        let minus_one = [Some(u64::from((-1f32).to_bits())), Some((-1f64).to_bits())];
        // What is no literal here may be 0 once a loop is unrolled; the sign of a zero is promised at `Exact` only.
        let may_be_zero = |b: Option<u64>| b.map_or(self.is_exact(), |bits| bits == 0);
        let is_pair = |[a, b]: [Option<u64>; 2]| minus_one.contains(&a) && may_be_zero(b);
        if !ty.is_float() && self.build.scalar(ty)?.width == 8 {
            let zero = self.unknown_zero();
            let zero = self.convert(zero, self.build.scalar(ty)?);
            let [first, second] = [x[1], x[2]].map(|value| self.binary(Binary::InclusiveOr, value, zero));
            return Ok(self.select(x[0], first, second));
        }
        if !is_pair(bits) && !is_pair([bits[1], bits[0]]) {
            return Ok(self.select(x[0], x[1], x[2]));
        }
        let first = if ty.is_float() {
            self.unforeseen(ty, x[1])?
        } else {
            let zero = self.unknown_zero();
            let zero = self.convert(zero, self.build.scalar(ty)?);
            self.binary(Binary::InclusiveOr, x[1], zero)
        };
        Ok(self.select(x[0], first, x[2]))
    }

    /// The bits of a literal number, without those of its sign past its width.
    fn literal_bits(&self, value: Value) -> Option<u64> {
        match self.function.expressions[value] {
            Expression::Literal(Literal::F32(number)) => Some(number.to_bits().into()),
            Expression::Literal(Literal::F64(number)) => Some(number.to_bits()),
            Expression::Literal(Literal::I32(number)) => Some((number as u32).into()),
            Expression::Literal(Literal::U32(number)) => Some(number.into()),
            Expression::Literal(Literal::I64(number)) => Some(number as u64),
            Expression::Literal(Literal::U64(number)) => Some(number),
            _ => None,
        }
    }

    /// Is it a literal zero, of either sign?
    fn is_zero(&self, value: Value) -> bool {
        match self.function.expressions[value] {
            Expression::Literal(Literal::F32(number)) => number == 0.0,
            Expression::Literal(Literal::F64(number)) => number == 0.0,
            _ => false,
        }
    }

    /// The result of an operation, hidden from compilers that reassociate.
    fn hidden(&mut self, ty: Ty, value: Value) -> Result<Value, EmitError> {
        if self.build.target.reassociates && self.is_sealed() {
            self.veiled(Binary::ExclusiveOr, ty, value)
        } else {
            Ok(value)
        }
    }

    /// An operand, of which the driver's compiler knows nothing.
    pub(super) fn unforeseen(&mut self, ty: Ty, value: Value) -> Result<Value, EmitError> {
        // Not as results are hidden: doing that twice would undo it.
        self.veiled(Binary::InclusiveOr, ty, value)
    }

    /// naga cannot say `NoContraction`, so the bits go together with a number that is 0 in every launch.
    fn veiled(&mut self, op: Binary, ty: Ty, value: Value) -> Result<Value, EmitError> {
        let wide = self.build.scalar(ty)?.width == 8;
        if wide && !self.build.target.int64 {
            return Ok(value);
        }
        let bits = self.bits(value, ScalarKind::Uint);
        let mut zero = self.unknown_zero();
        if wide {
            zero = self.convert(zero, naga::Scalar::U64);
        }
        let bits = self.binary(op, bits, zero);
        Ok(self.bits(bits, ScalarKind::Float))
    }

    /// A NaN loses; of two zeros the second is taken.
    fn float_extreme(&mut self, operator: Operator, ty: Ty, a: Value, b: Value) -> Result<Value, EmitError> {
        let op = if operator == Operator::Min { Binary::Less } else { Binary::Greater };
        let first = self.binary(op, a, b);
        let nan = self.is_nan(ty, b)?;
        let first = self.binary(Binary::LogicalOr, first, nan);
        Ok(self.select(first, a, b))
    }
}
