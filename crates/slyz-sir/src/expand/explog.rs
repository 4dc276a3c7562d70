//! Exponentials, logarithms, powers and what is made of them, in `f32`.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::sheet::E;
use crate::ops::Operator;
use crate::types::Ty;

const INFINITY: f32 = f32::INFINITY;
/// Adding it leaves the nearest whole number in the low bits.
const SHIFTER: f32 = 12_582_912.0;

/// 2^n for -126 <= n <= 127, from an `i32`.
fn power_of_two(n: E<'_>) -> E<'_> {
    ((n + 127) << 23).bits(Ty::F32)
}

/// `p` 2^`n` for `p` near 1. Results below the normal range are rounded as integers: a GPU may have no subnormal arithmetic.
fn scale<'a>(p: E<'a>, n: E<'a>) -> E<'a> {
    let y = p.bits(Ty::I32) + (n << 23);
    let low = n.op2(Operator::Max, -160).op2(Operator::Min, -100);
    let units = p * power_of_two(low + 149) + 8_388_608.0;
    let y = y.replaced(n.lt(-125) & y.lt(0x0080_0000), units.bits(Ty::I32) - 0x4b00_0000);
    let high = n.op2(Operator::Max, 100).op2(Operator::Min, 129);
    let y = y.replaced(n.gt(125), (p * power_of_two(high - 1) * 2.0).bits(Ty::I32));
    y.bits(Ty::F32).replaced(p.is_nan(), p)
}

/// `x` = n ln 2 + r, for |`x`| < 2^15: r and n.
fn split_exp(x: E<'_>) -> (E<'_>, E<'_>) {
    let t = x.mla(1.442_695, SHIFTER);
    let j = t - SHIFTER;
    let r = j.fma(-0.693_147_2, x);
    (j.fma(1.904_654_2e-9, r), t.bits(Ty::I32) - 0x4b40_0000)
}

/// e^`x` 2^`k`.
fn exp_scaled(x: E<'_>, k: i64) -> E<'_> {
    let x = x.replaced(x.gt(89.5), 89.5);
    let x = x.replaced(x.lt(-105.0), -105.0);
    let (r, n) = split_exp(x);
    let p = r.polynomial(&[0.001_382_317_9, 0.008_369_248, 0.041_668_244, 0.166_665_15, 0.499_999_94, 1.0, 1.0]);
    scale(p, n + k)
}

pub(super) fn exp(x: E<'_>) -> E<'_> {
    exp_scaled(x, 0)
}

/// 2^(`x` + `low`) for a small second word.
fn exp2_words<'a>(x: E<'a>, low: E<'a>) -> E<'a> {
    let x = x.replaced(x.gt(129.0), 129.0);
    let x = x.replaced(x.lt(-151.0), -151.0);
    let t = x + SHIFTER;
    let r = (x - (t - SHIFTER)) + low;
    let p =
        r.polynomial(&[0.000_133_468_71, 0.001_338_797_4, 0.009_625_42, 0.055_503_663, 0.240_225_94, 0.693_147_2, 1.0]);
    scale(p, t.bits(Ty::I32) - 0x4b40_0000)
}

pub(super) fn exp2(x: E<'_>) -> E<'_> {
    exp2_words(x, x.number(0.0))
}

pub(super) fn expm1(x: E<'_>) -> E<'_> {
    let near = x.replaced(x.gt(89.0), 89.0);
    let near = near.replaced(near.lt(-20.0), -20.0);
    let (r, n) = split_exp(near);
    let p = r.polynomial(&[0.000_149_642_76, 0.001_393_042_5, 0.008_341_579, 0.041_666_51, 0.166_666_36, 0.5]);
    let q = p.mla(r * r, r);
    let half = power_of_two(n - 1); // finite where 2^n is not
    let y = half.fma(q, half - 0.5) * 2.0;
    y.replaced(n.eq(0), q.replaced(x.eq(0.0), x)).replaced(x.is_nan(), x)
}

/// `x` = 2^k (1 + f) with 1 + f in [2/3, 4/3), for `x` > 0: f and k.
fn split_ln(x: E<'_>) -> (E<'_>, E<'_>) {
    let (bits, less) = normal_bits(x);
    let bits = bits - 0x3f2a_aaab;
    let k = ((bits >> 23) - less).cast(Ty::I16).cast(Ty::F32);
    (((bits & 0x7f_ffff) + 0x3f2a_aaab).bits(Ty::F32) - 1.0, k)
}

/// The bits of `x` 2^k for a normal number, and k: 0, or for subnormal `x` whatever makes it normal.
fn normal_bits(x: E<'_>) -> (E<'_>, E<'_>) {
    let bits = x.bits(Ty::I32);
    // As integers: a GPU may take subnormal numbers for zeros.
    let shift = (bits | 1).op1(Operator::LeadingZeros) - 8;
    let tiny = bits.gt(0) & bits.lt(0x0080_0000);
    // The leading bit moves into the exponent, which becomes 1.
    (bits.replaced(tiny, bits << shift), shift.number(0).replaced(tiny, shift))
}

/// ln(1 + f) on [-1/3, 1/3].
fn ln_near_1(f: E<'_>) -> E<'_> {
    let p = f.polynomial(&[
        -0.124_820_575,
        0.140_621_66,
        -0.122_743_62,
        0.139_894_78,
        -0.166_744_14,
        0.200_114_4,
        -0.249_999_2,
        0.333_331_97,
        -0.5,
    ]);
    p.mla(f * f, f)
}

/// The logarithm `y` of `x`, mended where `x` is 0, negative, infinite or NaN.
fn ln_corners<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let bits = x.bits(Ty::I32);
    let y = y.replaced(bits.ge(0x7f80_0000), x);
    let y = y.replaced(bits.lt(0), f32::NAN);
    y.replaced((bits & 0x7fff_ffff).eq(0), -INFINITY)
}

pub(super) fn ln(x: E<'_>) -> E<'_> {
    let (f, k) = split_ln(x);
    ln_corners(x, k.fma(0.693_147_2, ln_near_1(f)))
}

pub(super) fn log2(x: E<'_>) -> E<'_> {
    let (f, k) = split_ln(x);
    let p = f.polynomial(&[
        -0.176_283_5,
        0.203_448_7,
        -0.177_917_1,
        0.201_720_7,
        -0.240_500_38,
        0.288_709_82,
        -0.360_674_17,
        0.480_896_3,
        -0.721_347_5,
        1.925_963e-8,
    ]);
    ln_corners(x, k + f.fma(1.442_695, f * p))
}

/// The logarithm of 2 has few bits in its first word, so that its product with k is exact.
pub(super) fn log10(x: E<'_>) -> E<'_> {
    let (f, k) = split_ln(x);
    let y = ln_near_1(f);
    let low = y.mla(-1.010_305e-8, k * 4.605_039e-6);
    let high = y.mla(0.434_294_5, low);
    ln_corners(x, k.mla(0.301_025_4, high))
}

pub(super) fn ln_1p(x: E<'_>) -> E<'_> {
    let u = x + 1.0;
    let e = (u.bits(Ty::I32) - 0x3f2a_aaab) & -0x0080_0000;
    let s = (0x4080_0000 - e).bits(Ty::F32) * 0.25; // 2^-k, exact for k = 127 and 128 too
    let f = x.fma(s, s - 1.0); // (1 + x) 2^-k - 1, rounded once
    let k = (e >> 23).cast(Ty::I16).cast(Ty::F32);
    let y = k.fma(0.693_147_2, ln_near_1(f));
    let y = y.replaced(x.abs().lt(7.888_609e-31), x);
    let y = y.replaced(x.bits(Ty::I32).ge(0x7f80_0000), x);
    let y = y.replaced(x.eq(-1.0), -INFINITY);
    y.replaced(x.lt(-1.0), f32::NAN).replaced(x.is_nan(), x)
}

/// log2 `x` in two words, about 2^-32 off, for `x` > 0: ln(1 + f) = 2 atanh(s), s = f / (2 + f).
fn log2_words(x: E<'_>) -> (E<'_>, E<'_>) {
    let (f, k) = split_ln(x);
    let d = f + 2.0;
    let (dl, r) = (f - (d - 2.0), 1.0 / d);
    let s = f * r;
    let sl = r * (-s).fma(dl, (-s).fma(d, f));
    let z = s * s;
    let zl = s.fma(s, -z) + s * 2.0 * sl;
    let q = z * z.polynomial(&[0.119_364_515, 0.142_628_1, 0.200_001_96]);
    let third = x.number(0.333_333_34);
    let a = third + q;
    let al = (third - a) + q + -9.934_108e-9;
    let b = a * z;
    let bl = a.fma(z, -b) + a.fma(zl, al * z);
    let g = s.fma(b, s);
    let gl = s.fma(b, s - g) + s.fma(bl, sl.fma(b, sl));
    let h = g * 2.885_39; // 2 log2 e
    let hl = g.fma(2.885_39, -h) + g.fma(3.851_926e-8, gl * 2.885_39);
    let y = k + h;
    (y, (h - (y - k)) + hl)
}

/// `x`^(`y` + `low`) for `x` >= 0.
fn pow_positive<'a>(x: E<'a>, y: E<'a>, low: E<'a>) -> E<'a> {
    let (h, hl) = log2_words(x);
    let e = y * h;
    let el = y.fma(h, -e) + (y * hl + low * h);
    let el = el.number(0.0).replaced(e.abs().lt(200.0), el);
    let r = exp2_words(e, el);
    let (zero, infinity) = (x.number(0.0), x.number(INFINITY));
    let bits = x.bits(Ty::I32);
    let r = r.replaced(bits.eq(0), zero.replaced(y.lt(0.0), INFINITY));
    r.replaced(x.eq(INFINITY), infinity.replaced(y.lt(0.0), 0.0))
}

/// A number with the sign of `x` where a condition holds.
fn signed_if<'a>(r: E<'a>, cond: E<'a>, x: E<'a>) -> E<'a> {
    r.replaced(cond, r.with_sign_of(x))
}

pub(super) fn pow<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let (ax, ay) = (x.abs(), y.abs());
    let near = y.replaced(ay.gt(1.099_511_6e12), y.number(1.099_511_6e12).with_sign_of(y));
    let r = pow_positive(ax, near, x.number(0.0));
    let (whole, half) = (y.op1(Operator::Trunc).eq(y), y * 0.5);
    let odd = whole & half.op1(Operator::Trunc).ne(half);
    let r = signed_if(r, odd, x);
    let r =
        r.replaced((x.bits(Ty::I32) & 0x7fff_ffff).ne(0) & x.bits(Ty::I32).lt(0) & !whole & ax.lt(INFINITY), f32::NAN);
    let r = r.replaced(x.is_nan() | y.is_nan(), f32::NAN);
    let one = x.eq(1.0) | (y.bits(Ty::I32) & 0x7fff_ffff).eq(0) | (x.eq(-1.0) & ay.eq(INFINITY));
    r.replaced(one, 1.0)
}

/// The exponent may need more bits than `f32` has.
pub(super) fn powi<'a>(x: E<'a>, n: E<'a>) -> E<'a> {
    let high = n & -0x100;
    let (y, low) = (high.cast(Ty::F32), (n - high).cast(Ty::F32));
    let small = n.lt(0x80_0000) & n.gt(-0x80_0000);
    let y = y.replaced(small, n.cast(Ty::F32));
    let low = low.replaced(small, 0.0);
    let r = pow_positive(x.abs(), y, low);
    let r = signed_if(r, (n & 1).ne(0), x);
    let r = r.replaced(x.is_nan(), x);
    r.replaced(n.eq(0) | x.eq(1.0), 1.0)
}

/// Far from 1 the operands are scaled, so that the squares stay in range.
pub(super) fn hypot<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let (a, b) = (x.abs(), y.abs());
    let m = b.replaced(a.gt(b), a);
    let (large, small) = (m.gt(1.152_921_5e18), m.lt(8.673_617_4e-19));
    let s = m.number(1.0).replaced(small, 1.237_940_04e27).replaced(large, 8.470_329_5e-22);
    let back = m.number(1.0).replaced(small, 8.077_936e-28).replaced(large, 1.180_591_6e21);
    let (a, b) = (a * s, b * s);
    let r = a.mla(a, b * b).sqrt() * back;
    r.replaced(a.eq(INFINITY) | b.eq(INFINITY), INFINITY)
}

pub(super) fn cbrt(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let (bits, less) = normal_bits(a);
    let e = (bits >> 23) - less + 32;
    let third = (e * 43691) >> 17;
    let m = ((bits & 0x7f_ffff) | ((e - third * 3 + 127) << 23)).bits(Ty::F32); // [1, 8)
    // m^(-1/3) to 7 bits
    let y = m.polynomial(&[0.000_585_285_2, -0.012_986_452, 0.108_502_95, -0.440_829_52, 1.337_697_6]);
    let y = y * (y * y * y).mla(m * (-1.0 / 3.0), 4.0 / 3.0);
    let y = y * (y * y * y).mla(m * (-1.0 / 3.0), 4.0 / 3.0);
    let z = y * y;
    let r = m * z;
    let r = (-r * r).fma(r, m).mla(z * (1.0 / 3.0), r); // r - (r^3 - m) / (3 r^2)
    let r = r * power_of_two(third - 53);
    let kept = (a.bits(Ty::I32)).eq(0) | !a.lt(INFINITY);
    r.replaced(kept, a).with_sign_of(x)
}

pub(super) fn sinh(x: E<'_>) -> E<'_> {
    let (a, z) = (x.abs(), x * x);
    let p = z.polynomial(&[2.782_219_8e-6, 0.000_198_428_96, 0.008_333_310_5, 0.166_666_67]);
    let (near, e) = ((p * z).mla(a, a), exp_scaled(a, -1));
    (e - 0.25 / e).replaced(a.lt(1.0), near).with_sign_of(x)
}

pub(super) fn cosh(x: E<'_>) -> E<'_> {
    let e = exp_scaled(x.abs(), -1);
    e + 0.25 / e
}

pub(super) fn tanh(x: E<'_>) -> E<'_> {
    let (a, z) = (x.abs(), x * x);
    let p = z.polynomial(&[-0.005_696_119_7, 0.020_630_477, -0.053_736_854, 0.133_314_06, -0.333_332_8]);
    let (near, far) = ((p * z).mla(a, a), 1.0 - 2.0 / (exp(a + a) + 1.0));
    far.replaced(a.lt(0.625), near).with_sign_of(x)
}

/// Far from 0, the complement is exp(-t + t q(t)).
pub(super) fn erf(x: E<'_>) -> E<'_> {
    let (a, z) = (x.abs(), x * x);
    let t = a.replaced(a.gt(4.0), 4.0);
    let p = z.polynomial(&[-0.000_595_998_1, 0.004_987_427_5, -0.026_763_01, 0.112_817_32, -0.376_124_9, 0.128_379_15]);
    let q = t.polynomial(&[
        -1.123_094_6e-5,
        0.000_322_802_98,
        -0.003_642_466_2,
        0.023_762_1,
        -0.106_236_94,
        -0.635_151_27,
        -0.128_648_5,
    ]);
    let (near, far) = (p.mla(a, a), 1.0 - exp(q.mla(t, -t)));
    far.replaced(a.lt(0.925), near).with_sign_of(x)
}
