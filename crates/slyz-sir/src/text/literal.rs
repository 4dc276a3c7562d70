//! Constants as text, to the bit.
//!
//! Floats are the shortest decimal that reads back, with a NaN other than the usual one as `bits 0x…`.

use super::lex::Kind;
use super::parse::{Parsed, Parser};
use crate::interp::Value;
use crate::types::{Scalar, Ty, int_range};

/// A value as a case writes it: `f32[2] [1.0, 2.0]` or `f32 0.5`.
pub fn print_value(value: &Value) -> String {
    match value {
        Value::Scalar(scalar) => format!("{} {}", scalar.ty, literal(*scalar)),
        Value::Array(array) => {
            let shape: Vec<String> = array.shape.iter().map(u64::to_string).collect();
            let data: Vec<String> = array.data.iter().map(|&bits| literal(Scalar::from_bits(array.ty, bits))).collect();
            format!("{}[{}] [{}]", array.ty, shape.join(", "), data.join(", "))
        }
    }
}

/// The constant without its type.
pub(super) fn literal(scalar: Scalar) -> String {
    match scalar.ty {
        Ty::Bool => (scalar.bits != 0).to_string(),
        Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => float(scalar),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => scalar.as_int().to_string(),
    }
}

fn float(scalar: Scalar) -> String {
    let value = scalar.as_f64();
    if value.is_nan() {
        return if scalar == nan(scalar.ty) { "nan".to_string() } else { format!("bits {:#x}", scalar.bits) };
    }
    match scalar.ty {
        Ty::F32 => format!("{:?}", value as f32),
        // The shortest decimal of the same number as an `f64` is longer than a narrow float needs.
        Ty::F16 | Ty::BF16 if value.is_finite() => (0..10)
            .filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok())
            .find(|&short| Scalar::from_f64(scalar.ty, short) == scalar)
            .map_or_else(|| format!("{value:?}"), |short| format!("{short:?}")),
        _ => format!("{value:?}"),
    }
}

/// The NaN that is written `nan`: quiet, positive, nothing else set.
fn nan(ty: Ty) -> Scalar {
    let bits = match ty {
        Ty::F16 => 0x7e00,
        Ty::BF16 => 0x7fc0,
        Ty::F32 => 0x7fc0_0000,
        Ty::F64 => 0x7ff8_0000_0000_0000,
        // Callers ask for floats only; the others have none.
        Ty::Bool | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => 0,
    };
    Scalar { ty, bits }
}

impl<'t> Parser<'t> {
    /// A constant of a type that is known from elsewhere.
    pub fn literal(&mut self, ty: Ty) -> Parsed<Scalar> {
        let at = self.at();
        if self.eat_word("bits") {
            return self.bits(ty);
        }
        if ty == Ty::Bool {
            return match self.peek() {
                Kind::Word(word @ ("true" | "false")) => {
                    self.bump();
                    Ok(Scalar::bool(word == "true"))
                }
                _ => Err(self.expected("`true` or `false`")),
            };
        }
        let minus = self.eat("-");
        let sign = if minus { "-" } else { "" };
        match self.peek() {
            Kind::Word("inf") if ty.is_float() => {
                self.bump();
                Ok(Scalar::from_f64(ty, if minus { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            Kind::Word("nan") if ty.is_float() && !minus => {
                self.bump();
                Ok(nan(ty))
            }
            Kind::Number(digits) => {
                let text = format!("{sign}{digits}");
                let scalar = if ty.is_float() { read_float(ty, &text) } else { read_int(ty, &text) };
                let wanted = || match ty.is_float() {
                    true => format!("a finite constant of type {ty}"),
                    false => format!("a constant of type {ty}, from {} to {}", int_range(ty).0, int_range(ty).1),
                };
                let scalar = scalar.ok_or_else(|| self.error(at, wanted(), Kind::Number(&text).describe()))?;
                self.bump();
                Ok(scalar)
            }
            Kind::Word(_) | Kind::Name(_) | Kind::Text(_) | Kind::Mark(_) | Kind::End => {
                Err(self.expected(format!("a constant of type {ty}")))
            }
        }
    }

    fn bits(&mut self, ty: Ty) -> Parsed<Scalar> {
        let wanted = format!("the bits of the {ty}, such as `0x1f`");
        let Kind::Number(digits) = self.peek() else { return Err(self.expected(wanted)) };
        let bits = digits.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let scalar = bits.map(|bits| Scalar::from_bits(ty, bits)).filter(|scalar| Some(scalar.bits) == bits);
        let scalar = scalar.ok_or_else(|| self.expected(wanted))?;
        self.bump();
        Ok(scalar)
    }
}

/// Rounds once; a decimal past the largest finite value is no float, as it would read back as another text.
fn read_float(ty: Ty, text: &str) -> Option<Scalar> {
    let scalar = match ty {
        Ty::F32 => Scalar::f32(text.parse().ok()?),
        _ => Scalar::from_f64(ty, text.parse().ok()?),
    };
    scalar.as_f64().is_finite().then_some(scalar)
}

fn read_int(ty: Ty, text: &str) -> Option<Scalar> {
    let (low, high) = int_range(ty);
    let value: i128 = text.parse().ok()?;
    (low..=high).contains(&value).then(|| Scalar::from_int(ty, value))
}

/// A line of a text between quotes.
pub(super) fn quoted(line: &str) -> String {
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t").replace('\r', "\\r"))
}

/// What stands between quotes, as it was.
pub(super) fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next() {
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            _ => out.push(c),
        }
    }
    out
}
