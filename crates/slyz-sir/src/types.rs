//! Element types and scalar values.
//!
//! A [`Scalar`] is a type and its bits. Values compare and hash by bits, so a NaN equals itself here and
//! constants can be shared; what the operators mean by `==` is the operator table's business.

use crate::halves::{bf16_from_f32, bf16_to_f64, f16_from_f32, f16_to_f64};
use std::fmt;

/// A scalar element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    /// One byte in memory, 0 or 1.
    Bool,
    /// Signed integers.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer; positions and extents have this type.
    I64,
    /// Unsigned integers.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Ty {
    /// Every type, in table order.
    pub const ALL: [Ty; 13] = [
        Ty::Bool,
        Ty::I8,
        Ty::I16,
        Ty::I32,
        Ty::I64,
        Ty::U8,
        Ty::U16,
        Ty::U32,
        Ty::U64,
        Ty::F16,
        Ty::BF16,
        Ty::F32,
        Ty::F64,
    ];

    /// The name in SIR text and in messages: Rust's own name for the type.
    pub fn name(self) -> &'static str {
        match self {
            Ty::Bool => "bool",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::U8 => "u8",
            Ty::U16 => "u16",
            Ty::U32 => "u32",
            Ty::U64 => "u64",
            Ty::F16 => "f16",
            Ty::BF16 => "bf16",
            Ty::F32 => "f32",
            Ty::F64 => "f64",
        }
    }

    /// The type with that name.
    pub fn from_name(name: &str) -> Option<Ty> {
        Ty::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes of one element in a buffer.
    pub fn bytes(self) -> usize {
        match self {
            Ty::Bool | Ty::I8 | Ty::U8 => 1,
            Ty::I16 | Ty::U16 | Ty::F16 | Ty::BF16 => 2,
            Ty::I32 | Ty::U32 | Ty::F32 => 4,
            Ty::I64 | Ty::U64 | Ty::F64 => 8,
        }
    }

    /// Width in bits of the value (1 for `bool`).
    pub fn bits(self) -> u32 {
        if self == Ty::Bool { 1 } else { self.bytes() as u32 * 8 }
    }

    /// `f16 bf16 f32 f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64)
    }

    /// `i8`…`i64`.
    pub fn is_signed(self) -> bool {
        matches!(self, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }

    /// `i8`…`u64`, not `bool`.
    pub fn is_int(self) -> bool {
        self.is_signed() || matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of a scalar type; unused high bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The type.
    pub ty: Ty,
    /// The bits, zero-extended.
    pub bits: u64,
}

impl Scalar {
    /// A value from its bits; bits past the width are dropped.
    pub fn from_bits(ty: Ty, bits: u64) -> Scalar {
        let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        Scalar { ty, bits: bits & mask }
    }

    /// An integer (or `bool`) of type `ty` holding `value` modulo its width; floats are converted.
    pub fn from_int(ty: Ty, value: i128) -> Scalar {
        match ty {
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => int_to_float(ty, value),
            _ => Scalar::from_bits(ty, value as u64),
        }
    }

    /// A float of type `ty` nearest to `value`; integers are converted as [`Scalar::cast`] does.
    pub fn from_f64(ty: Ty, value: f64) -> Scalar {
        let bits = match ty {
            Ty::F64 => value.to_bits(),
            Ty::F32 => (value as f32).to_bits() as u64,
            Ty::F16 => f16_from_f32(odd_f32(value)) as u64,
            Ty::BF16 => bf16_from_f32(odd_f32(value)) as u64,
            Ty::Bool => (value != 0.0) as u64,
            _ => return Scalar { ty: Ty::F64, bits: value.to_bits() }.cast(ty),
        };
        Scalar { ty, bits }
    }

    /// A position or extent.
    pub fn i64(value: i64) -> Scalar {
        Scalar { ty: Ty::I64, bits: value as u64 }
    }

    /// A truth value.
    pub fn bool(value: bool) -> Scalar {
        Scalar { ty: Ty::Bool, bits: value as u64 }
    }

    /// An `f32`.
    pub fn f32(value: f32) -> Scalar {
        Scalar { ty: Ty::F32, bits: value.to_bits() as u64 }
    }

    /// Is it a float that is not zero and too small for a full mantissa?
    pub fn is_denormal(self) -> bool {
        let smallest = match self.ty {
            Ty::F16 => 2f64.powi(-14),
            Ty::BF16 | Ty::F32 => f64::from(f32::MIN_POSITIVE),
            Ty::F64 => f64::MIN_POSITIVE,
            Ty::Bool | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => return false,
        };
        let size = self.as_f64().abs();
        size > 0.0 && size < smallest
    }

    /// The value of an integer or `bool`, exactly; floats are truncated toward zero.
    pub fn as_int(self) -> i128 {
        match self.ty {
            Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => self.bits as i128,
            Ty::I8 => self.bits as i8 as i128,
            Ty::I16 => self.bits as i16 as i128,
            Ty::I32 => self.bits as i32 as i128,
            Ty::I64 => self.bits as i64 as i128,
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => self.as_f64() as i128,
        }
    }

    /// The value as an `f64`: exact for every float type and for integers up to 53 bits.
    pub fn as_f64(self) -> f64 {
        match self.ty {
            Ty::F16 => f16_to_f64(self.bits as u16),
            Ty::BF16 => bf16_to_f64(self.bits as u16),
            Ty::F32 => f32::from_bits(self.bits as u32) as f64,
            Ty::F64 => f64::from_bits(self.bits),
            _ => self.as_int() as f64,
        }
    }

    /// True for a `bool` that holds, and for any number that is not zero.
    pub fn is_true(self) -> bool {
        if self.ty.is_float() { self.as_f64() != 0.0 } else { self.bits != 0 }
    }

    /// Conversion to another type, as the table documents it: floats to integers saturate and NaN becomes 0,
    /// integers to narrower integers keep the low bits, numbers to `bool` ask whether they differ from zero,
    /// and everything else rounds to nearest, ties to even.
    pub fn cast(self, to: Ty) -> Scalar {
        match to {
            Ty::Bool => Scalar::bool(self.is_true()),
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 if self.ty.is_float() => Scalar::from_f64(to, self.as_f64()),
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => int_to_float(to, self.as_int()),
            _ if self.ty.is_float() => {
                let (low, high) = int_range(to);
                Scalar::from_int(to, (self.as_f64() as i128).clamp(low, high))
            }
            _ => Scalar::from_int(to, self.as_int()),
        }
    }
}

/// Smallest and largest value of an integer type.
pub fn int_range(ty: Ty) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Converts with one rounding. Going through `f64` would round 64-bit integers twice on the way to `f32`.
fn int_to_float(ty: Ty, value: i128) -> Scalar {
    let bits = match ty {
        Ty::F64 => (value as f64).to_bits(),
        Ty::F32 => (value as f32).to_bits() as u64,
        // A sticky low bit keeps the second rounding from being fooled by the first.
        Ty::F16 => f16_from_f32(odd_f32(sticky_f64(value))) as u64,
        _ => bf16_from_f32(odd_f32(sticky_f64(value))) as u64,
    };
    Scalar { ty, bits }
}

/// An `f32` next to `value`: itself, or the neighbour whose last bit is set. Rounding that to half precision is right,
/// where rounding to the nearest `f32` first would make ties out of near ties.
fn odd_f32(value: f64) -> f32 {
    let near = value as f32;
    if value.is_nan() || near as f64 == value {
        return near;
    }
    let toward_zero = near.to_bits() - ((near as f64).abs() > value.abs()) as u32;
    f32::from_bits(toward_zero | 1)
}

fn sticky_f64(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let drop = (128 - magnitude.leading_zeros()).saturating_sub(52);
    let lost = drop > 0 && magnitude & ((1 << drop) - 1) != 0;
    let kept = ((magnitude >> drop) | lost as u128) << drop;
    if value < 0 { -(kept as f64) } else { kept as f64 }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.ty {
            Ty::Bool => write!(f, "{}", self.bits != 0),
            ty if ty.is_float() => write!(f, "{:?}{ty}", self.as_f64()),
            ty => write!(f, "{}{ty}", self.as_int()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_once() {
        // Just below and above a tie; an f32 cannot tell them from it.
        let f16 = |x: f64| Scalar::from_f64(Ty::F16, x).as_f64();
        assert_eq!([521.749_97, 521.75, 521.750_01].map(f16), [521.5, 522.0, 522.0]);
        assert_eq!([521.25 + 1e-9, 521.25, 521.25 - 1e-9].map(f16), [521.5, 521.0, 521.0]);
        assert_eq!(
            [65_519.999_999_9, 65_520.0, 1e300, -1e-300].map(f16),
            [65_504.0, f64::INFINITY, f64::INFINITY, -0.0]
        );
        let bf16 = |x: f64| Scalar::from_f64(Ty::BF16, x).as_f64();
        assert_eq!([1.003_906_25 + 1e-12, 1.003_906_25, -1e-300].map(bf16), [1.007_812_5, 1.0, -0.0]);
        assert_eq!(Scalar::from_int(Ty::F16, 2049).as_f64(), 2048.0);
        assert_eq!(Scalar::from_int(Ty::BF16, (257 << 40) + 1).as_f64(), (258i64 << 40) as f64);
        assert!(f16(f64::NAN).is_nan());
    }
}
