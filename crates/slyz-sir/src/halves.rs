//! The two 16-bit floats, as bits: to `f64` and back.
//!
//! Users hold them as the `half` crate's types; the compiler only needs these four functions, and everything waits for it to be built.

/// Rounds to nearest, ties to even.
pub(crate) fn f16_from_f32(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16) as u16 & 0x8000;
    let bits = x.to_bits() & 0x7fff_ffff;
    let size = match bits {
        0x7f80_0001.. => 0x7e00 | (bits >> 13 & 0x3ff) as u16,
        // 65,520 is half way between the largest number and what would be the next.
        0x477f_f000.. => 0x7c00,
        0x3880_0000.. => {
            let rounded = bits + 0x0fff + (bits >> 13 & 1);
            ((rounded >> 13) - (112 << 10)) as u16
        }
        // Below the normal range numbers are multiples of 2^-24.
        _ => (f32::from_bits(bits) * 16_777_216.0).round_ties_even() as u16,
    };
    sign | size
}

pub(crate) fn f16_to_f64(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 != 0 { -size } else { size }
}

/// Rounds to nearest, ties to even.
pub(crate) fn bf16_from_f32(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

pub(crate) fn bf16_to_f64(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn all_halves_are_what_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let pairs = [
                (f16_to_f64(bits), f16::from_bits(bits).to_f64()),
                (bf16_to_f64(bits), bf16::from_bits(bits).to_f64()),
            ];
            for (ours, theirs) in pairs {
                assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn rounding_is_what_the_half_crate_says() {
        // Every upper half of a float, with lower halves around the ties.
        for high in 0..=u16::MAX {
            for low in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(u32::from(high) << 16 | low);
                let ours = f16_from_f32(x);
                let theirs = f16::from_f32(x).to_bits();
                assert!(ours == theirs || x.is_nan() && f16_to_f64(ours).is_nan(), "{x:e}: {ours:#x}, not {theirs:#x}");
                let ours = bf16_from_f32(x);
                let theirs = bf16::from_f32(x).to_bits();
                assert!(
                    ours == theirs || x.is_nan() && bf16_to_f64(ours).is_nan(),
                    "{x:e}: {ours:#x}, not {theirs:#x}"
                );
            }
        }
    }
}
