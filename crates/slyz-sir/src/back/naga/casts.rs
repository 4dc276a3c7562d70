//! Conversions between types, and between values and bits.

use super::EmitError;
use super::writer::{Code, Value};
use crate::choices::Precision;
use crate::code::Id;
use crate::expand;
use crate::types::{Scalar, Ty, int_range};
use naga::{BinaryOperator as Binary, Expression, Literal, MathFunction, ScalarKind, TypeInner, VectorSize};

impl Code<'_, '_> {
    /// The value of a narrow type from the low bits of a word.
    pub(super) fn unpacked(&mut self, ty: Ty, word: Value) -> Result<Value, EmitError> {
        Ok(match ty {
            Ty::Bool => {
                let mask = self.u32(0xff);
                let byte = self.binary(Binary::And, word, mask);
                let zero = self.u32(0);
                self.binary(Binary::NotEqual, byte, zero)
            }
            Ty::I8 | Ty::I16 => {
                let word = self.bits(word, ScalarKind::Sint);
                self.wrapped(ty, word)
            }
            Ty::U8 | Ty::U16 => self.wrapped(ty, word),
            Ty::F16 if self.has_own_halves() => self.own_halves(word)[0],
            Ty::F16 => self.helper(&expand::unpack_f16(), &[word])?,
            Ty::BF16 => {
                let by = self.u32(16);
                let up = self.binary(Binary::ShiftLeft, word, by);
                self.bits(up, ScalarKind::Float)
            }
            Ty::I32 | Ty::U32 | Ty::F32 => {
                let kind = self.build.scalar(ty)?.kind;
                self.bits(word, kind)
            }
            Ty::I64 | Ty::U64 | Ty::F64 => return Err(self.build.form(&format!("{ty} in a word"))),
        })
    }

    /// A word whose low bits are those of a value; what is above them is anything.
    pub(super) fn packed(&mut self, ty: Ty, value: Value) -> Result<Value, EmitError> {
        Ok(match ty {
            Ty::Bool => {
                let one = self.u32(1);
                let zero = self.u32(0);
                self.select(value, one, zero)
            }
            Ty::F16 if self.has_own_halves() => self.own_word(&[value]),
            Ty::F16 => self.helper(&expand::pack_f16(), &[value])?,
            Ty::BF16 => {
                let bits = self.bits(value, ScalarKind::Uint);
                let by = self.u32(16);
                self.binary(Binary::ShiftRight, bits, by)
            }
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::F32 => self.bits(value, ScalarKind::Uint),
            Ty::U8 | Ty::U16 | Ty::U32 => value,
            Ty::I64 | Ty::U64 | Ty::F64 => return Err(self.build.form(&format!("{ty} in a word"))),
        })
    }

    pub(super) fn bitcast(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        if from == to {
            return Ok(value);
        }
        if from.bits() == 64 {
            if !self.build.target.int64 {
                return Err(self.build.lacks_int64("64-bit integers (bits of 64-bit values)"));
            }
            let kind = self.build.scalar(to)?.kind;
            return Ok(self.bits(value, kind));
        }
        if from.bits() == 32 {
            let kind = self.build.scalar(to)?.kind;
            return Ok(self.bits(value, kind));
        }
        // A target's own conversions may give another NaN, whose bits somebody asks for here.
        let word = match from {
            Ty::F16 => self.helper(&expand::pack_f16(), &[value])?,
            _ => self.packed(from, value)?,
        };
        match to {
            Ty::F16 => self.helper(&expand::unpack_f16(), &[word]),
            _ => self.unpacked(to, word),
        }
    }

    /// Are `f16`s the target's own in words, where they are to be as the table says?
    pub(super) fn has_own_halves(&self) -> bool {
        match self.build.target.precision {
            Precision::Native => true,
            Precision::Table => self.build.target.exact_halves,
            Precision::Exact => false,
        }
    }

    /// Both `f16`s of a word.
    pub(super) fn own_halves(&mut self, word: Value) -> [Value; 2] {
        let base = self.math(MathFunction::Unpack2x16float, &[word]);
        [0, 1].map(|index| self.expr(Expression::AccessIndex { base, index }))
    }

    /// A word of one or two numbers as `f16`s, rounded.
    pub(super) fn own_word(&mut self, numbers: &[Value]) -> Value {
        let mut components = numbers.to_vec();
        if components.len() == 1 {
            components.push(self.literal(Literal::F32(0.0)));
        }
        let inner = TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::F32 };
        let ty = self.build.ty(inner);
        let both = self.expr(Expression::Compose { ty, components });
        self.math(MathFunction::Pack2x16float, &[both])
    }

    pub(super) fn cast(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        match (from, to) {
            _ if from == to => Ok(value),
            (_, Ty::Bool) => {
                let zero = self.constant(Scalar::from_int(from, 0))?;
                let none = self.binary(Binary::Equal, value, zero);
                Ok(self.not(none))
            }
            (Ty::Bool, _) => {
                let one = self.constant(Scalar::from_int(to, 1))?;
                let zero = self.constant(Scalar::from_int(to, 0))?;
                // NVIDIA's compiler makes a negated condition of what is less 1, whose 0 is negative.
                let one = if to.is_float() { self.unforeseen(to, one)? } else { one };
                Ok(self.select(value, one, zero))
            }
            _ => match (from.is_float(), to.is_float()) {
                (true, true) => self.float_to_float(from, to, value),
                (true, false) => self.float_to_int(from, to, value),
                (false, true) => self.int_to_float(from, to, value),
                (false, false) => self.int_to_int(from, to, value),
            },
        }
    }

    fn float_to_float(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        let source = self.build.scalar(from)?;
        let target = self.build.scalar(to)?;
        if (source.width, target.width) == (8, 4) && to != Ty::F32 {
            if !self.build.target.int64 {
                return Err(self.build.lacks_int64("64-bit integers (rounding f64)"));
            }
            let odd = self.helper(&expand::odd_f32(), &[value])?;
            return self.rounded(to, odd);
        }
        let value = if source == target { value } else { self.convert(value, target) };
        self.rounded(to, value)
    }

    fn float_to_int(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        let target = self.build.scalar(to)?;
        if to == Ty::I64 && target.width == 4 {
            return Err(self.build.lacks_int64(&format!("64-bit integers ({from} to i64)")));
        }
        let computed = if from == Ty::F64 { Ty::F64 } else { Ty::F32 };
        let (low, high) = int_range(to);
        // The first whole number past the largest value is a power of two, so every float type has it; the smallest is one too.
        let past = self.constant(Scalar::from_f64(computed, (high + 1) as f64))?;
        let least = self.constant(Scalar::from_f64(computed, low as f64))?;
        let zero = self.constant(Scalar::from_f64(computed, 0.0))?;
        let not_low = self.binary(Binary::Greater, value, least);
        let not_high = self.binary(Binary::Less, value, past);
        let inside = self.binary(Binary::LogicalAnd, not_low, not_high);
        let tame = self.select(inside, value, zero);
        let converted = self.convert(tame, target);
        let low = self.integer(to, low)?;
        let high = self.integer(to, high)?;
        let none = self.integer(to, 0)?;
        let above = self.binary(Binary::GreaterEqual, value, past);
        let below = self.binary(Binary::LessEqual, value, least);
        let result = self.select(above, high, converted);
        let result = self.select(below, low, result);
        let nan = self.is_nan(from, value)?;
        Ok(self.select(nan, none, result))
    }

    fn int_to_float(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        let source = self.build.scalar(from)?;
        let target = self.build.scalar(to)?;
        let exact = from.bits() <= 16 || to == Ty::F64 && from.bits() <= 32;
        if exact || to == Ty::F64 {
            let converted = self.convert(value, target);
            return self.rounded(to, converted);
        }
        // By hand, in integers: conversions of GPUs may round as they like.
        let zero = self.integer(from, 0)?;
        let unsigned = naga::Scalar { kind: ScalarKind::Uint, width: source.width };
        let (size, negative) = if from.is_signed() {
            let minus = self.binary(Binary::Subtract, zero, value);
            let less = self.binary(Binary::Less, value, zero);
            let size = self.select(less, minus, value);
            (self.convert(size, unsigned), Some(less))
        } else {
            (value, None)
        };
        let (high, low) = if source.width == 8 {
            let (low, high) = self.halves(size);
            (high, low)
        } else {
            let none = self.u32(0);
            (none, size)
        };
        let bits = match to {
            Ty::F32 => self.helper(&expand::nearest_f32(), &[high, low])?,
            _ => self.helper(&expand::odd_f32_of_words(), &[high, low])?,
        };
        let mut result = self.rounded(to, bits)?;
        if let Some(less) = negative {
            let minus = self.unary(naga::UnaryOperator::Negate, result);
            result = self.select(less, minus, result);
        }
        Ok(result)
    }

    fn int_to_int(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        let source = self.build.scalar(from)?;
        let target = self.build.scalar(to)?;
        if !self.build.target.int64 && to == Ty::I64 && from == Ty::U32 {
            return Err(self.build.lacks_int64("64-bit integers (u32 to i64)"));
        }
        if source.width == 4 && target.width == 8 {
            let wide = self.widened(source, value);
            return Ok(if target.kind == ScalarKind::Uint { wide } else { self.bits(wide, target.kind) });
        }
        // First the width, by the sign of the source, then the kind.
        let widened = naga::Scalar { kind: source.kind, width: target.width };
        let value = if widened == source { value } else { self.convert(value, widened) };
        let value = if widened == target { value } else { self.bits(value, target.kind) };
        Ok(self.wrapped(to, value))
    }

    /// A number that fits both types, or of which only the low word counts, from one of `u32`, `i32`, `i64` in another.
    /// Where there are no 64-bit integers an `i64` is an `i32`.
    pub(super) fn resized(&mut self, from: Ty, to: Ty, value: Value) -> Result<Value, EmitError> {
        if from == to {
            return Ok(value);
        }
        let source = self.build.scalar(from)?;
        let target = self.build.scalar(to)?;
        if source.width == 4 && target.width == 8 {
            let wide = self.widened(source, value);
            return Ok(self.bits(wide, target.kind));
        }
        let low = naga::Scalar { kind: source.kind, width: target.width };
        let value = if low == source { value } else { self.convert(value, low) };
        Ok(if low == target { value } else { self.bits(value, target.kind) })
    }

    /// A value in a type that it fits.
    pub(super) fn get_in(&mut self, id: Id, held: Ty) -> Result<Value, EmitError> {
        let named = self.named(id)?;
        self.resized(named.held, held, named.value)
    }

    /// A 32-bit integer as a `u64`, with the sign of its type. By hand: Mesa 22 compares numbers that a conversion has
    /// widened with constants as if they were something else.
    pub(super) fn widened(&mut self, source: naga::Scalar, value: Value) -> Value {
        if source.kind == ScalarKind::Uint {
            let high = self.unknown_zero();
            return self.join(value, high);
        }
        let by = self.u32(31);
        let low = self.bits(value, ScalarKind::Uint);
        let high = self.binary(Binary::ShiftRight, value, by);
        let high = self.bits(high, ScalarKind::Uint);
        self.join(low, high)
    }
}
