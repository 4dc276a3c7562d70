//! Types and values, as C and C++ write them. Half precision is its bits.

use crate::types::{Scalar, Ty};

/// The type of an element in memory.
pub(super) fn c_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "bool",
        Ty::I8 => "int8_t",
        Ty::I16 => "int16_t",
        Ty::I32 => "int32_t",
        Ty::I64 => "int64_t",
        Ty::U8 => "uint8_t",
        Ty::U16 | Ty::F16 | Ty::BF16 => "uint16_t",
        Ty::U32 => "uint32_t",
        Ty::U64 => "uint64_t",
        Ty::F32 => "float",
        Ty::F64 => "double",
    }
}

/// A value.
pub(super) fn literal(value: Scalar) -> String {
    let x = value.as_f64();
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        Ty::F16 | Ty::BF16 => format!("0x{:04x}", value.bits),
        Ty::F32 | Ty::F64 if x.is_nan() => "NAN".to_string(),
        Ty::F32 | Ty::F64 if x.is_infinite() => if x < 0.0 { "-INFINITY" } else { "INFINITY" }.to_string(),
        Ty::F32 => format!("{:?}f", x as f32),
        Ty::F64 => format!("{x:?}"),
        // The smallest number has no literal of its own.
        Ty::I64 if value.as_int() == i64::MIN.into() => "INT64_MIN".to_string(),
        Ty::I32 if value.as_int() == i32::MIN.into() => "INT32_MIN".to_string(),
        Ty::I64 => format!("INT64_C({})", value.as_int()),
        Ty::U64 => format!("UINT64_C({})", value.as_int()),
        Ty::U32 => format!("{}u", value.as_int()),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::U8 | Ty::U16 => value.as_int().to_string(),
    }
}

/// A function that reads an element as a number, and those that it needs.
pub(super) fn number(ty: Ty) -> String {
    let name = c_type(ty);
    let body = match ty {
        Ty::F16 => {
            "    int exponent = value >> 10 & 31, fraction = value & 1023;\n    double size = exponent == 31 ? (fraction ? NAN : INFINITY)\n        \
             : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);\n    return value >> 15 ? -size : size;\n"
        }
        Ty::BF16 => {
            "    uint32_t bits = (uint32_t)value << 16;\n    float single;\n    memcpy(&single, &bits, sizeof single);\n    return single;\n"
        }
        _ => "    return (double)value;\n",
    };
    format!(
        "static double number_{ty}(const void *at) {{\n    {name} value;\n    memcpy(&value, at, sizeof value);\n{body}}}\n\n"
    )
}

/// Functions that make halves of small whole numbers, where they are used.
pub(super) const HALF: &str = "static inline uint16_t half(int number) {
    float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 1023));
}

";
pub(super) const BFLOAT: &str = "static inline uint16_t bfloat(int number) {
    float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)(bits >> 16);
}

";
