//! Logarithms and powers.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::exponential::exp2_words;
use super::parts::{Kind, Shared};
use super::sheet::{E, repeat};
use super::{Expansion, Table};
use crate::ops::Operator;
use crate::types::Ty;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[
    (Operator::Ln, Expansion::Unary(ln)),
    (Operator::Log2, Expansion::Unary(log2)),
    (Operator::Log10, Expansion::Unary(log10)),
    (Operator::Ln1p, Expansion::Unary(ln_1p)),
    (Operator::Pow, Expansion::Binary(pow)),
    (Operator::Powi, Expansion::WholePower(powi)),
];

/// The parts of operators that are called.
pub(super) const SHARED: &[&Shared] = &[&LN_OF_ANY, &LOG2_OF_ANY, &LOG10_OF_ANY];

static LN_OF_ANY: Shared = of_any("ln_of_any", |x| vec![ln_of_any(x[0])]);
static LOG2_OF_ANY: Shared = of_any("log2_of_any", |x| vec![log2_of_any(x[0])]);
static LOG10_OF_ANY: Shared = of_any("log10_of_any", |x| vec![log10_of_any(x[0])]);

/// A logarithm of whatever number, where few are not positive, normal and finite.
const fn of_any(name: &'static str, write: for<'a> fn(&[E<'a>]) -> Vec<E<'a>>) -> Shared {
    Shared { name, rare: true, params: &[Kind::Float], results: &[Kind::Float], write }
}

const INFINITY: f64 = f64::INFINITY;

/// The bits of the number from which on mantissas of logarithms start: 2/3, and sqrt(1/2).
fn start(x: E<'_>) -> i64 {
    x.either(0x3f2a_aaab, 0x3fe6_a09e_667f_3bcd)
}

/// An integer of few bits as a float of its width.
fn small_number(n: E<'_>) -> E<'_> {
    if n.ty().bits() == 64 {
        return n.cast(Ty::I32).cast(Ty::F64);
    }
    // In the low bits of a float whose unit is 1: GPUs are slow to convert.
    (n + 0x4b40_0000).float() - 12_582_912.0
}

/// Is it not positive, normal and finite?
fn is_odd(x: E<'_>) -> E<'_> {
    let layout = x.layout();
    (x.word() - layout.normal()).ge(layout.infinity - layout.normal())
}

/// `x` = 2^k (1 + f) with 1 + f in [start, 2 start), for positive and normal `x`, in few operations of vectors: f and k.
fn split_normal(x: E<'_>) -> (E<'_>, E<'_>) {
    let layout = x.layout();
    if x.ty() == Ty::F64 {
        // No conversions, no shifts of signed numbers: older machines have none. The exponent goes into the low bits of 2^52.
        let one = layout.bias << layout.mantissa;
        let bits = x.word() + (one - start(x));
        let k = ((bits >> layout.mantissa) | 0x4330_0000_0000_0000).float() - (4_503_599_627_370_496.0 + 1023.0);
        return (((bits & layout.fraction) + start(x)).float() - 1.0, k);
    }
    let bits = x.signed() - start(x);
    (((bits & layout.fraction) + start(x)).float() - 1.0, (bits >> layout.mantissa).cast(Ty::F32))
}

/// The same for subnormal `x` too.
fn split_positive(x: E<'_>) -> (E<'_>, E<'_>) {
    let by = x.either(25, 54);
    let tiny = x.lt(x.either(f32::MIN_POSITIVE.into(), f64::MIN_POSITIVE));
    let (f, k) = split_normal(x.replaced(tiny, x * 2f64.powi(by)));
    (f, k.replaced(tiny, k - f64::from(by)))
}

/// `x` = 2^k (1 + f) with 1 + f in [start, 2 start), for `x` > 0: f and k.
fn split_ln(x: E<'_>) -> (E<'_>, E<'_>) {
    if x.in_lanes() {
        let (f, k) = split_normal(x);
        let mended = is_odd(x).mends(&[f, k], || {
            let (f, k) = split_positive(x);
            vec![f, k]
        });
        return (mended[0], mended[1]);
    }
    let layout = x.layout();
    let (bits, less) = normal_bits(x);
    let bits = bits - start(x);
    let k = small_number((bits >> layout.mantissa) - less);
    (((bits & layout.fraction) + start(x)).float() - 1.0, k)
}

/// The bits of `x` 2^k for a normal number, and k: 0, or for subnormal `x` whatever makes it normal.
pub(super) fn normal_bits(x: E<'_>) -> (E<'_>, E<'_>) {
    let bits = x.signed();
    let layout = x.layout();
    if x.in_lanes() {
        let by = x.either(24, 54);
        let tiny = bits.lt(layout.normal());
        let mended =
            tiny.mends(&[bits, bits.number(0)], || vec![(x * 2f64.powi(by)).signed(), bits.number(i64::from(by))]);
        return (mended[0], mended[1]);
    }
    // As integers: a GPU may take subnormal numbers for zeros.
    let shift = (bits | 1).op1(Operator::LeadingZeros) - layout.spare();
    let tiny = bits.gt(0) & bits.lt(layout.normal());
    // The leading bit moves into the exponent, which becomes 1.
    (bits.replaced(tiny, bits << shift), shift.number(0).replaced(tiny, shift))
}

/// ln(1 + f) + `low`. `f64`: with s = f / (2 + f) it is f - f^2/2 + s (f^2/2 + P(s^2)).
fn ln_near_1<'a>(f: E<'a>, low: Option<E<'a>>) -> E<'a> {
    if f.ty() == Ty::F64 {
        let s = f / (f + 2.0);
        let h = f * 0.5 * f;
        let z = s * s;
        let p = z.polynomial(&[
            0.147_957_321_534_568_4,
            0.153_140_758_737_971_34,
            0.181_835_631_614_127_25,
            0.222_221_986_000_032_85,
            0.285_714_287_420_663_7,
            0.399_999_999_994_165_36,
            0.666_666_666_666_673_4,
        ]);
        let part = p.mla(z, h);
        return f - (h - low.map_or_else(|| s * part, |low| s.mla(part, low)));
    }
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
    let y = p.mla(f * f, f);
    low.map_or(y, |low| y + low)
}

/// `k` ln 2 + ln(1 + `f`).
fn ln_sum<'a>(k: E<'a>, f: E<'a>) -> E<'a> {
    if f.ty() == Ty::F64 {
        // The first word of ln 2 has few bits, so that its product with k is exact.
        return k.mla(0.693_147_180_369_123_8, ln_near_1(f, Some(k * 1.908_214_929_270_587_7e-10)));
    }
    k.fma(0.693_147_2, ln_near_1(f, None))
}

/// The logarithm `y` of `x`, mended where `x` is 0, negative, infinite or NaN.
fn ln_corners<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    if x.in_lanes() {
        let y = x.replaced(x.lt(INFINITY), y);
        return y.replaced(x.eq(0.0), -INFINITY).replaced(x.lt(0.0), f64::NAN);
    }
    let bits = x.signed();
    let y = y.replaced(bits.ge(x.layout().infinity), x);
    let y = y.replaced(bits.lt(0), f64::NAN);
    y.replaced(x.size().eq(0), -INFINITY).replaced(x.is_nan(), x)
}

/// A logarithm of numbers for vectors: `of` f and k where `x` is positive, normal and finite, and else what is said of any.
fn in_lanes<'a>(x: E<'a>, any: &'static Shared, of: fn(E<'a>, E<'a>) -> E<'a>) -> E<'a> {
    let (f, k) = split_normal(x);
    is_odd(x).mends(&[of(k, f)], || x.shared(any, &[]))[0]
}

/// f and k of a number that may be anything.
fn split_any(x: E<'_>) -> (E<'_>, E<'_>) {
    if x.in_lanes() { split_positive(x) } else { split_ln(x) }
}

fn ln_of_any(x: E<'_>) -> E<'_> {
    let (f, k) = split_any(x);
    ln_corners(x, ln_sum(k, f))
}

pub(super) fn ln(x: E<'_>) -> E<'_> {
    if x.in_lanes() {
        return in_lanes(x, &LN_OF_ANY, ln_sum);
    }
    if !x.is_fused() || x.ty() == Ty::F64 {
        return ln_of_any(x);
    }
    // Positive, finite and normal: nothing to mend.
    let usual = (x.word() - 0x0080_0000).lt(0x7f00_0000);
    let near = || {
        let bits = x.signed() - start(x);
        let f = ((bits & x.layout().fraction) + start(x)).float() - 1.0;
        vec![ln_sum(small_number(bits >> 23), f)]
    };
    usual.branch(near, || vec![ln_of_any(x)])[0]
}

/// The product of `y` and a constant of two words, in two words.
fn times_words<'a>(y: E<'a>, high: f64, low: f64) -> (E<'a>, E<'a>) {
    let product = y * high;
    (product, y.mla(low, y.fma(high, -product)))
}

pub(super) fn log2(x: E<'_>) -> E<'_> {
    if x.in_lanes() { in_lanes(x, &LOG2_OF_ANY, log2_sum) } else { log2_of_any(x) }
}

fn log2_of_any(x: E<'_>) -> E<'_> {
    let (f, k) = split_any(x);
    ln_corners(x, log2_sum(k, f))
}

/// `k` + log2(1 + `f`).
fn log2_sum<'a>(k: E<'a>, f: E<'a>) -> E<'a> {
    if f.ty() == Ty::F64 {
        let (h, low) = times_words(ln_near_1(f, None), 1.442_695_040_888_963_4, 2.035_527_374_093_103_3e-17);
        let sum = k + h;
        return sum + ((h - (sum - k)) + low);
    }
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
    k + f.fma(1.442_695, f * p)
}

pub(super) fn log10(x: E<'_>) -> E<'_> {
    if x.in_lanes() { in_lanes(x, &LOG10_OF_ANY, log10_sum) } else { log10_of_any(x) }
}

fn log10_of_any(x: E<'_>) -> E<'_> {
    let (f, k) = split_any(x);
    ln_corners(x, log10_sum(k, f))
}

/// `k` log10 2 + log10(1 + `f`). The logarithm of 2 has few bits in its first word, so that its product with k is exact.
fn log10_sum<'a>(k: E<'a>, f: E<'a>) -> E<'a> {
    let y = ln_near_1(f, None);
    if f.ty() == Ty::F64 {
        let (h, low) = times_words(y, 0.434_294_481_903_251_8, 1.098_319_650_216_765e-17);
        let high = k * 0.301_029_995_663_157;
        let sum = high + h;
        return sum + k.mla(8.241_712_586_023_572e-13, (h - (sum - high)) + low);
    }
    let low = y.mla(-1.010_305e-8, k * 4.605_039e-6);
    let high = y.mla(0.434_294_5, low);
    k.mla(0.301_025_4, high)
}

pub(super) fn ln_1p(x: E<'_>) -> E<'_> {
    let layout = x.layout();
    let u = x + 1.0;
    let e = (u.signed() - start(x)) & !layout.fraction;
    let s = (u.number(4.0).signed() - e).float() * 0.25; // 2^-k, exact for the largest k too
    let f = x.fma(s, s - 1.0); // (1 + x) 2^-k - 1, rounded once
    if x.in_lanes() {
        let y = ln_sum(exponent_in_lanes(e), f);
        let y = x.replaced(x.lt(INFINITY), y.replaced(x.eq(0.0), x));
        return y.replaced(x.eq(-1.0), -INFINITY).replaced(x.lt(-1.0), f64::NAN);
    }
    // Where the 1 is lost anyway, without 2^-k, which may be subnormal, and so zero on a GPU.
    let far = (((u.signed() - start(x)) & layout.fraction) + start(x)).float() - 1.0;
    let f = f.replaced(x.gt(x.either(1e9, 1e18)), far);
    let y = ln_sum(small_number(e >> layout.mantissa), f);
    let y = y.replaced(x.abs().lt(7.888_609_052_210_118e-31), x);
    let y = y.replaced(x.signed().ge(layout.infinity), x);
    let y = y.replaced(x.eq(-1.0), -INFINITY);
    y.replaced(x.lt(-1.0), f64::NAN).replaced(x.is_nan(), x)
}

/// The exponent that the bits of a float hold above its mantissa, signed and without a bias, as a float.
fn exponent_in_lanes(e: E<'_>) -> E<'_> {
    let layout = e.layout();
    if e.ty().bits() == 32 {
        return (e >> layout.mantissa).cast(Ty::F32);
    }
    let raised = e.word() + (layout.bias << layout.mantissa);
    ((raised >> layout.mantissa) | 0x4330_0000_0000_0000).float() - (4_503_599_627_370_496.0 + 1023.0)
}

/// log2 `x` in two words, a quarter more than a mantissa of them right, for `x` > 0: ln(1 + f) = 2 atanh(s), s = f / (2 + f).
fn log2_words(x: E<'_>) -> (E<'_>, E<'_>) {
    let (f, k) = split_ln(x);
    let d = f + 2.0;
    let dl = f - (d - 2.0);
    let r = 1.0 / d;
    let s = f * r;
    let sl = r * (-s).fma(dl, (-s).fma(d, f));
    let z = s * s;
    let zl = s.fma(s, -z) + s * 2.0 * sl;
    let q = z * z.polynomial(x.either(
        &[0.119_364_515, 0.142_628_1, 0.200_001_96],
        &[
            0.059_910_154_706_254_57,
            0.058_378_748_315_988_056,
            0.066_681_329_471_821_58,
            0.076_922_791_982_609_86,
            0.090_909_094_221_923_45,
            0.111_111_111_088_936_75,
            0.142_857_142_857_219_23,
            0.199_999_999_999_999_9,
        ],
    ));
    let third = x.number(1.0 / 3.0);
    let a = third + q;
    let al = (third - a) + q + x.either(-9.934_108e-9, 1.850_371_707_708_594e-17);
    let b = a * z;
    let bl = a.fma(z, -b) + a.mla(zl, al * z);
    let g = s.fma(b, s);
    let gl = s.fma(b, s - g) + s.mla(bl, sl.mla(b, sl));
    let (two, two_low) = x.either((2.885_39, 3.851_926e-8), (2.885_390_081_777_926_8, 4.071_054_748_186_206_6e-17)); // 2 log2 e
    let h = g * two;
    let hl = g.fma(two, -h) + g.mla(two_low, gl * two);
    let y = k + h;
    (y, (h - (y - k)) + hl)
}

/// `x`^`y` for `x` >= 0.
fn pow_positive<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let (h, hl) = log2_words(x);
    let e = y * h;
    let el = y.mla(hl, y.fma(h, -e));
    let el = el.number(0.0).replaced(e.abs().lt(x.either(200.0, 2000.0)), el);
    let r = exp2_words(e, el);
    let zero = x.number(0.0);
    let infinity = x.number(INFINITY);
    let r = r.replaced(if x.in_lanes() { x.eq(0.0) } else { x.signed().eq(0) }, zero.replaced(y.lt(0.0), INFINITY));
    r.replaced(x.eq(INFINITY), infinity.replaced(y.lt(0.0), 0.0))
}

/// A number with the sign of `x` where a condition holds.
fn signed_if<'a>(r: E<'a>, cond: E<'a>, x: E<'a>) -> E<'a> {
    r.replaced(cond, r.with_sign_of(x))
}

pub(super) fn pow<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let ax = x.abs();
    let ay = y.abs();
    // Past it even the neighbours of 1 overflow.
    let most = x.either(1_099_511_627_776.0, 1_180_591_620_717_411_303_424.0);
    let near = y.replaced(ay.gt(most), y.number(most).with_sign_of(y));
    let r = pow_positive(ax, near);
    let whole = y.op1(Operator::Trunc).eq(y);
    let half = y * 0.5;
    let odd = whole & half.op1(Operator::Trunc).ne(half);
    if x.in_lanes() {
        let sign = x.word().number(0).replaced(odd, x.word() & !x.layout().size);
        let r = (r.word() | sign).float();
        let r = r.replaced(x.lt(0.0) & !whole & ax.lt(INFINITY), f64::NAN);
        let r = r.replaced(x.ne(x) | y.ne(y), x + y);
        return r.replaced(x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & ay.eq(INFINITY)), 1.0);
    }
    let r = signed_if(r, odd, x);
    let r = r.replaced(x.size().ne(0) & x.signed().lt(0) & !whole & ax.lt(INFINITY), f64::NAN);
    let r = r.replaced(x.is_nan() | y.is_nan(), f64::NAN);
    let one = x.eq(1.0) | y.size().eq(0) | (x.eq(-1.0) & ay.eq(INFINITY));
    r.replaced(one, 1.0)
}

/// By squaring.
pub(super) fn powi<'a>(x: E<'a>, n: E<'a>) -> E<'a> {
    let left = n.replaced(n.lt(0), -n).bits(Ty::U32);
    let more = |state: &[E<'a>]| state[2].ne(0);
    let state = repeat(&[x.number(1.0), x, left], more, |state| {
        let [power, square, left] = [state[0], state[1], state[2]];
        vec![power.replaced((left & 1).ne(0), power * square), square * square, left >> 1]
    });
    state[0].replaced(n.lt(0), 1.0 / state[0])
}
