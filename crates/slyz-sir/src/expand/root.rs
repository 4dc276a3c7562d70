//! Roots.

use super::exponential::power_of_two;
use super::logarithm::normal_bits;
use super::sheet::E;
use super::{Expansion, Table};
use crate::ops::Operator;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[
    (Operator::Rsqrt, Expansion::Unary(|x| 1.0 / x.sqrt())),
    (Operator::Cbrt, Expansion::Unary(cbrt)),
    (Operator::Hypot, Expansion::Binary(hypot)),
];

const INFINITY: f64 = f64::INFINITY;

/// Far from 1 the operands are scaled by powers of two, so that the squares stay in range.
pub(super) fn hypot<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let a = x.abs();
    let b = y.abs();
    let m = b.replaced(a.gt(b), a);
    let power = |n: i32| 2f64.powi(n);
    let large = m.gt(power(x.either(60, 500)));
    let small = m.lt(power(x.either(-60, -450)));
    let down = power(x.either(-70, -600));
    let up = power(x.either(90, 600));
    let s = m.number(1.0).replaced(small, up).replaced(large, down);
    let back = m.number(1.0).replaced(small, 1.0 / up).replaced(large, 1.0 / down);
    let a = a * s;
    let b = b * s;
    let r = a.mla(a, b * b).sqrt() * back;
    r.replaced(a.eq(INFINITY) | b.eq(INFINITY), INFINITY)
}

pub(super) fn cbrt(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let layout = x.layout();
    let (bits, less) = normal_bits(a);
    // As much more as makes the exponent of a subnormal number positive, and that of 1 a multiple of 3.
    let more = x.either(32, 54);
    let e = (bits >> layout.mantissa) - less + more;
    let third = (e * 43691) >> 17;
    let m = ((bits & layout.fraction) | ((e - third * 3 + layout.bias) << layout.mantissa)).float(); // [1, 8)
    // m^(-1/3) to 7 bits
    let y = m.polynomial(&[0.000_585_285_2, -0.012_986_452, 0.108_502_95, -0.440_829_52, 1.337_697_6]);
    let y = (0..x.either(2, 3)).fold(y, |y, _| y * (y * y * y).mla(m * (-1.0 / 3.0), 4.0 / 3.0));
    let z = y * y;
    let r = m * z;
    let r = (-r * r).fma(r, m).mla(z * (1.0 / 3.0), r); // r - (r^3 - m) / (3 r^2)
    let r = r * power_of_two(third - (layout.bias + more) / 3);
    let kept = a.signed().eq(0) | !a.lt(INFINITY);
    r.replaced(kept, a).with_sign_of(x)
}
