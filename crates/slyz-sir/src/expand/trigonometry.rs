//! Trigonometry and its inverses, in `f32`.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::sheet::E;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};

const SHIFTER: f32 = 12_582_912.0;
const HALF_PI: f32 = 1.570_796_4;
const PI: f32 = 3.141_592_7;
const INFINITY: f32 = f32::INFINITY;
/// 2/pi after 16 zero bits.
const TWO_OVER_PI: [u32; 8] =
    [0x0000_a2f9, 0x836e_4e44, 0x1529_fc27, 0x57d1_f534, 0xddc0_db62, 0x9599_3c43, 0x9041_fe51, 0x63ab_debb];

/// `x` = q pi/2 + r with |r| <= pi/4: r and q. The words of pi/2 have one sign, which keeps -0.
fn reduce(x: E<'_>) -> (E<'_>, E<'_>) {
    let large = x.abs().gt(65536.0);
    let reduced = large.branch(
        || {
            let (r, q) = reduce_large(x);
            vec![r, q]
        },
        || {
            let t = x.mla(0.636_619_75, SHIFTER);
            let j = t - SHIFTER;
            let r = j.fma(-1.570_796_3, x);
            let r = j.fma(-7.549_789_4e-8, r);
            let r = j.fma(-5.390_303e-15, r);
            vec![r, t.bits(Ty::I32)]
        },
    );
    (reduced[0], reduced[1])
}

/// `x` modulo pi/2 for |`x`| > 65536, in exact integer arithmetic (Payne and Hanek): with x = m 2^e, the quadrant and the
/// rest are 4 times the fraction of m (2^(e-2) 2/pi).
fn reduce_large(x: E<'_>) -> (E<'_>, E<'_>) {
    let bits = x.bits(Ty::U32);
    let exponent = bits >> 23 & 255;
    let m = (bits & 0x7f_ffff) | 0x80_0000;
    let shift = exponent - 136;
    let (first, b) = (shift >> 5, shift & 31);
    let word = |k: usize| {
        let choice = |n: usize| x.constant(Scalar::from_int(Ty::U32, TWO_OVER_PI[n + k].into()));
        (1..4).fold(choice(0), |word, n| word.replaced(first.eq(n as i64), choice(n)))
    };
    let words = [word(0), word(1), word(2), word(3)];
    let window = |k: usize| (words[k] << b) | ((words[k + 1] >> 1) >> (31 - b));
    // The fraction is the low 64 bits of m (w0 w1 . w2).
    let (p1, l1) = wide(m, window(1));
    let (p2, _) = wide(m, window(2));
    let low = l1 + p2;
    let carry = low.number(0).replaced(low.lt(l1), 1);
    let high = m * window(0) + p1 + carry;
    let n = (high + 0x2000_0000) >> 30;
    // What is left, as a signed number of 64 bits.
    let high = high - (n << 30);
    let negative = high.bits(Ty::I32).lt(0);
    let (nl, borrow) = (0 - low, high.number(0).replaced(low.eq(0), 1));
    let (low, high) = (low.replaced(negative, nl), high.replaced(negative, !high + borrow));
    // The highest 32 bits that count, and their place.
    let none = high.eq(0);
    let (top, next) = (high.replaced(none, low), low.replaced(none, 0));
    let by = (top | 1).op1(Operator::LeadingZeros);
    let top = (top << by) | ((next >> 1) >> (31 - by));
    let place = by.replaced(none, by + 32);
    let lead = ((top >> 8) & 0x7f_ffff | 0x3f80_0000).bits(Ty::F32); // 24 bits of it, in [1, 2)
    let rest = (top & 0xff).cast(Ty::U8).cast(Ty::F32) * 4.656_613e-10;
    // 2^63 stands for 2 * (2^62 = pi/2).
    let unit = ((128 - place) << 23).bits(Ty::F32);
    let r = lead.fma(1.570_796_4, lead * -4.371_139e-8 + rest * 1.570_796_4) * unit;
    let r = r.replaced(high.eq(0) & low.eq(0), 0.0);
    let positive = bits.bits(Ty::I32).ge(0);
    let r = r.replaced(negative, -r);
    let (r, q) = ((-r).replaced(positive, r), (0 - n).replaced(positive, n));
    (r.replaced(exponent.eq(255), f32::NAN), q.bits(Ty::I32))
}

/// The product of two `u32` as a high and a low word.
fn wide<'a>(a: E<'a>, b: E<'a>) -> (E<'a>, E<'a>) {
    let (ah, al, bh, bl) = (a >> 16, a & 0xffff, b >> 16, b & 0xffff);
    let (low, left, right) = (al * bl, ah * bl, al * bh);
    let middle = (low >> 16) + (left & 0xffff) + (right & 0xffff);
    (ah * bh + (left >> 16) + (right >> 16) + (middle >> 16), a * b)
}

/// sin(`r` + `q` pi/2) for |`r`| <= pi/4.
fn sin_quadrant<'a>(r: E<'a>, q: E<'a>) -> E<'a> {
    let z = r * r;
    let s = z.polynomial(&[2.832_522_6e-6, -0.000_198_530_64, 0.008_333_379, -0.166_666_67]);
    let s = (s * z).mla(r, r).replaced(r.abs().lt(8.673_617_4e-19), r);
    let c = z.polynomial(&[2.443_242_2e-5, -0.001_388_731, 0.041_666_646, -0.5, 1.0]);
    let y = s.replaced((q & 1).ne(0), c);
    (y.bits(Ty::I32) ^ ((q & 2) << 30)).bits(Ty::F32)
}

pub(super) fn sin(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    sin_quadrant(r, q)
}

pub(super) fn cos(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    sin_quadrant(r, q + 1)
}

pub(super) fn tan(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    let z = r * r;
    let p = z.polynomial(&[
        0.004_379_806,
        8.481_605_6e-5,
        0.010_837_113_5,
        0.021_282_924,
        0.054_059_43,
        0.133_326_72,
        0.333_333_5,
    ]);
    let y = (p * z).mla(r, r).replaced(r.abs().lt(8.673_617_4e-19), r);
    y.replaced((q & 1).ne(0), -1.0 / y)
}

/// z + z^3 P(z^2) for |`z`| <= 1/2, given z^2.
fn asin_near_0<'a>(z: E<'a>, s: E<'a>) -> E<'a> {
    let p = s.polynomial(&[0.037_691_11, 0.014_317_119_5, 0.031_838_83, 0.044_513_382, 0.075_005_22, 0.166_666_6]);
    (p * s).mla(z, z)
}

/// |`x`|, whether it is above 1/2, and the arc sine of it, or where it is of sqrt((1 - |x|) / 2).
fn asin_parts(x: E<'_>) -> (E<'_>, E<'_>) {
    let a = x.abs();
    let h = a.mla(-0.5, 0.5);
    let far = a.gt(0.5);
    (far, asin_near_0(a.replaced(far, h.sqrt()), (a * a).replaced(far, h)))
}

pub(super) fn asin(x: E<'_>) -> E<'_> {
    let (far, r) = asin_parts(x);
    r.replaced(far, r.mla(-2.0, HALF_PI)).with_sign_of(x)
}

pub(super) fn acos(x: E<'_>) -> E<'_> {
    let (far, r) = asin_parts(x);
    let near = (HALF_PI - r.with_sign_of(x)) + -4.371_139e-8;
    let y = (r * 2.0).replaced(x.lt(0.0), r.mla(-2.0, PI));
    near.replaced(far, y).replaced(x.is_nan(), x)
}

/// atan `z` for |`z`| <= 1.
fn atan_near_0(z: E<'_>) -> E<'_> {
    let s = z * z;
    let p = s.polynomial(&[
        -0.001_788_932_2,
        0.010_892_744,
        -0.031_135_237,
        0.057_912_674,
        -0.084_006_86,
        0.109_511_89,
        -0.142_640_43,
        0.199_985_3,
        -0.333_333,
    ]);
    (p * s).mla(z, z)
}

pub(super) fn atan(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let far = a.gt(1.0);
    let r = atan_near_0(a.replaced(far, 1.0 / a));
    r.replaced(far, HALF_PI - r).with_sign_of(x)
}

pub(super) fn atan2<'a>(y: E<'a>, x: E<'a>) -> E<'a> {
    let (ay, ax) = (y.abs(), x.abs());
    let steep = ay.gt(ax);
    let (small, large) = (ay.replaced(steep, ax), ax.replaced(steep, ay));
    let z = small / large;
    let z = z.replaced(large.bits(Ty::I32).eq(0), 0.0);
    let z = z.replaced(small.eq(INFINITY), 1.0);
    let r = atan_near_0(z);
    let r = r.replaced(steep, HALF_PI - r);
    let r = r.replaced(x.bits(Ty::I32).lt(0), PI - r);
    r.replaced(x.is_nan() | y.is_nan(), f32::NAN).with_sign_of(y)
}
