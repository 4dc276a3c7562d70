//! The meaning of functions that neither Rust nor libm has, in `f64`.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// sin(pi `x`). Of whole numbers it is a zero with their sign.
pub(crate) fn sinpi(x: f64) -> f64 {
    let (quarter, angle) = of_half_turns(x);
    let size = match quarter {
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    };
    let size = if size == 0.0 { 0.0 } else { size };
    if x.is_sign_negative() { -size } else { size }
}

/// cos(pi `x`). Halfway between whole numbers it is 0.
pub(crate) fn cospi(x: f64) -> f64 {
    let (quarter, angle) = of_half_turns(x);
    let y = match quarter {
        0 => angle.cos(),
        1 => -angle.sin(),
        2 => -angle.cos(),
        _ => angle.sin(),
    };
    if y == 0.0 { 0.0 } else { y }
}

/// |`x`| = n / 2 + r with |r| <= 1/4: n modulo 4, and pi r.
fn of_half_turns(x: f64) -> (u8, f64) {
    let turn = x.abs() % 2.0;
    let quarters = (turn * 2.0).round();
    (quarters as u8 % 4, (turn - quarters * 0.5) * PI)
}

/// The number whose error function is `x`: an estimate, improved by Halley's method.
pub(crate) fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a >= 1.0 || x == 0.0 || a.is_nan() {
        return if a == 1.0 { x * f64::INFINITY } else { x * 0.0 / (1.0 - a).max(0.0) };
    }
    // Winitzki's estimate is off by two parts in a thousand at most.
    let log = (-a * a).ln_1p();
    let half = 2.0 / (PI * 0.147) + log / 2.0;
    let mut y = ((half * half - log / 0.147).sqrt() - half).sqrt();
    if a < 1e-8 {
        y = a / FRAC_2_SQRT_PI;
    }
    for _ in 0..4 {
        let miss = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
        let step = miss / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(sinpi(0.5), 1.0);
        assert_eq!(sinpi(-3.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(cospi(1e15 + 0.5), 0.0);
        assert_eq!(cospi(7.0), -1.0);
        assert!(sinpi(f64::INFINITY).is_nan() && erfinv(1.5).is_nan() && erfinv(f64::NAN).is_nan());
        assert_eq!(erfinv(-1.0), f64::NEG_INFINITY);
        assert_eq!(erfinv(-0.0).to_bits(), (-0.0f64).to_bits());
        assert!((erfinv(0.5) - 0.476_936_276_204_469_9).abs() < 1e-16);
        assert!((erfinv(1.0 - 1e-15) - 5.675_804_338_055_71).abs() < 1e-1);
        for x in [1e-300, 1e-9, 0.3, 0.9, 0.999_999_999] {
            assert!((libm::erf(erfinv(x)) - x).abs() <= x * 3e-16, "{x}");
        }
    }
}
