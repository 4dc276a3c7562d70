//! Values between the command line and SIR: numbers read from words, results printed in short.

use slyz_sir::types::{Scalar, Ty, int_range};

/// As many elements are printed in full; of longer arrays the first and last few.
const WHOLE: usize = 12;
const ENDS: usize = 4;

/// A scalar from a word, or why it is none.
pub fn parse(ty: Ty, text: &str) -> Result<Scalar, String> {
    let digits = text.replace('_', "");
    let wrong = |what: &str| format!("`{text}` is not {what}");
    match ty {
        Ty::Bool => match text {
            "true" | "1" => Ok(Scalar::bool(true)),
            "false" | "0" => Ok(Scalar::bool(false)),
            _ => Err(wrong("a bool: write true or false")),
        },
        // One rounding, from the decimal number to the type.
        Ty::F32 => digits.parse().map(Scalar::f32).map_err(|_| wrong("a number (f32)")),
        Ty::F16 | Ty::BF16 | Ty::F64 => {
            digits.parse().map(|x| Scalar::from_f64(ty, x)).map_err(|_| wrong(&format!("a number ({ty})")))
        }
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => {
            let value: i128 = digits.parse().map_err(|_| wrong(&format!("a whole number ({ty})")))?;
            let (low, high) = int_range(ty);
            if value < low || value > high {
                return Err(wrong(&format!("in the range of {ty}, {low} to {high}")));
            }
            Ok(Scalar::from_int(ty, value))
        }
    }
}

/// `f32[5] [1.0, 2.0, …]`: the type, the shape and the elements, or some of them.
pub fn short(ty: Ty, shape: &[u64], bytes: &[u8]) -> String {
    let count = bytes.len() / ty.bytes();
    let element = |k: usize| text(scalar(ty, &bytes[k * ty.bytes()..(k + 1) * ty.bytes()]));
    if shape.is_empty() && count == 1 {
        return format!("{ty} {}", element(0));
    }
    let some: Vec<String> = if count <= WHOLE {
        (0..count).map(element).collect()
    } else {
        let ends = (0..ENDS).chain(count - ENDS..count).map(element);
        let mut some: Vec<String> = ends.collect();
        some.insert(ENDS, "…".into());
        some
    };
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{ty}[{}] [{}]", extents.join(", "), some.join(", "))
}

/// The element that bytes in the host's order stand for.
pub fn scalar(ty: Ty, bytes: &[u8]) -> Scalar {
    let push = |bits, &byte: &u8| bits << 8 | u64::from(byte);
    let bits =
        if cfg!(target_endian = "little") { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) };
    Scalar::from_bits(ty, bits)
}

/// The bytes of a number of the type, in the host's order.
pub fn bytes(ty: Ty, bits: u64) -> impl Iterator<Item = u8> {
    let start = if cfg!(target_endian = "little") { 0 } else { size_of::<u64>() - ty.bytes() };
    bits.to_ne_bytes().into_iter().skip(start).take(ty.bytes())
}

fn text(value: Scalar) -> String {
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        // The shortest text that reads back as the same number is the type's own.
        Ty::F32 => format!("{:?}", value.as_f64() as f32),
        Ty::F16 | Ty::BF16 | Ty::F64 => format!("{:?}", value.as_f64()),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => value.as_int().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(parse(Ty::F32, "2.5"), Ok(Scalar::f32(2.5)));
        assert_eq!(parse(Ty::F32, "-inf"), Ok(Scalar::f32(f32::NEG_INFINITY)));
        assert_eq!(parse(Ty::I32, "-1_000"), Ok(Scalar::from_int(Ty::I32, -1000)));
        assert_eq!(parse(Ty::Bool, "true"), Ok(Scalar::bool(true)));
        assert!(parse(Ty::U8, "256").unwrap_err().contains("0 to 255"));
        assert!(parse(Ty::I32, "2.5").unwrap_err().contains("whole number"));
        assert!(parse(Ty::F64, "x.npy").unwrap_err().contains("x.npy"));
    }

    #[test]
    fn short_forms() {
        let floats: Vec<u8> = [0.1f32, 2.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(short(Ty::F32, &[2], &floats), "f32[2] [0.1, 2.0]");
        assert_eq!(short(Ty::F32, &[], &floats[..4]), "f32 0.1");
        assert_eq!(short(Ty::U8, &[4, 5], &[7; 20]), "u8[4, 5] [7, 7, 7, 7, …, 7, 7, 7, 7]");
        assert_eq!(short(Ty::I8, &[0], &[]), "i8[0] []");
        assert_eq!(short(Ty::Bool, &[1], &[1]), "bool[1] [true]");
    }
}
