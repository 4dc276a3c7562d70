//! Constants that numbers come with: `f32::MAX`, in .vex files `f32.MAX`.

use slyz_sir::types::{Scalar, Ty, int_range};

/// The constant with that path, if there is one.
pub(crate) fn constant(path: &str) -> Option<Scalar> {
    let path = path.strip_prefix("std::").or_else(|| path.strip_prefix("core::")).unwrap_or(path);
    let (ty, name) = path.split_once("::")?;
    let ty = Ty::from_name(ty)?;
    let name = name.strip_prefix("consts::").unwrap_or(name);
    if ty.is_int() {
        let (low, high) = int_range(ty);
        return match name {
            "MIN" => Some(Scalar::from_int(ty, low)),
            "MAX" => Some(Scalar::from_int(ty, high)),
            "BITS" => Some(Scalar::from_int(Ty::I64, i128::from(ty.bits()))),
            _ => None,
        };
    }
    if !ty.is_float() {
        return None;
    }
    use std::f64::consts;
    let value = match name {
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        "MAX" => largest(ty),
        "MIN" => -largest(ty),
        "EPSILON" => epsilon(ty),
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "SQRT_2" => consts::SQRT_2,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "FRAC_PI_2" => consts::FRAC_PI_2,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        _ => return None,
    };
    Some(Scalar::from_f64(ty, value))
}

fn largest(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 65504.0,
        Ty::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        Ty::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

fn epsilon(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 2f64.powi(-10),
        Ty::BF16 => 2f64.powi(-7),
        Ty::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}
