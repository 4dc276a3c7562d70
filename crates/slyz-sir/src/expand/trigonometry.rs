//! Trigonometry and its inverses. Rational approximations of asin and atan in `f64` are those of fdlibm (Sun Microsystems,
//! 1993, freely granted).
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::parts::{Kind, Shared};
use super::sheet::E;
use super::whole::wide_product;
use super::{Expansion, Table};
use crate::ops::Operator;
use crate::types::{Scalar, Ty};

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[
    (Operator::Sin, Expansion::Unary(sin)),
    (Operator::Cos, Expansion::Unary(cos)),
    (Operator::Tan, Expansion::Unary(tan)),
    (Operator::Asin, Expansion::Unary(asin)),
    (Operator::Acos, Expansion::Unary(acos)),
    (Operator::Atan, Expansion::Unary(atan)),
    (Operator::Atan2, Expansion::Binary(atan2)),
    (Operator::Sinpi, Expansion::Unary(sinpi)),
    (Operator::Cospi, Expansion::Unary(cospi)),
];

/// The parts of operators that are called.
pub(super) const SHARED: &[&Shared] = &[&REDUCE_LARGE];

/// What is left of a large number modulo pi/2, and the quadrant.
static REDUCE_LARGE: Shared = Shared {
    name: "reduce_large",
    rare: true,
    params: &[Kind::Float],
    results: &[Kind::Float, Kind::Whole],
    write: |x| {
        let (r, q) = reduce_large(x[0]);
        vec![r, q]
    },
};

const HALF_PI: f64 = 1.570_796_326_794_896_6;
const PI: f64 = 3.141_592_653_589_793;
/// Below it, sines and tangents are their arguments.
const TINY: f64 = 8.673_617_379_884_035e-19;
/// 2/pi after 64 zero bits.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// What rounding took from `HALF_PI`; the constant is the nearest one of the type.
fn half_pi_low(x: E<'_>) -> f64 {
    x.either(-4.371_139e-8, 6.123_233_995_736_766e-17)
}

/// `x` = q pi/2 + r with |r| <= pi/4: r and q. The words of pi/2 have one sign, which keeps -0.
fn reduce(x: E<'_>) -> (E<'_>, E<'_>) {
    let large = x.abs().gt(x.either(65536.0, 1_048_576.0));
    let far = || x.shared(&REDUCE_LARGE, &[]);
    let near = || {
        let t = x.mla(x.either(0.636_619_75, 0.636_619_772_367_581_4), x.shifter());
        let j = t.unshifted();
        let words = x.either(
            [-1.570_796_3, -7.549_789_4e-8, -5.390_303e-15],
            [-1.570_796_326_794_896_6, -6.123_233_995_736_765e-17, -1.082_856_673_921_914e-32],
        );
        vec![words.iter().fold(x, |r, &word| j.fma(word, r)), t.signed()]
    };
    let reduced = if x.in_lanes() { large.mends(&near(), far) } else { large.branch(far, near) };
    (reduced[0], reduced[1])
}

/// `r` + `r` `s`, where `s` has the factor r^2. Of -0 that is -0.
fn odd_sum<'a>(r: E<'a>, s: E<'a>, z: E<'a>) -> E<'a> {
    if r.in_lanes() {
        // s z is -0 for r = -0, and its product with r would be 0.
        return s.mla(z, 0.0).mla(r, r);
    }
    (s * z).mla(r, r).replaced(r.abs().lt(TINY), r)
}

/// `x` modulo pi/2 for large |`x`|, in exact integer arithmetic (Payne and Hanek): with x = m 2^e, the quadrant and the
/// rest are 4 times the fraction of m (2^(e-2) 2/pi). Words are as wide as the float.
fn reduce_large(x: E<'_>) -> (E<'_>, E<'_>) {
    let bits = x.word();
    let layout = x.layout();
    let width = layout.width;
    let exponent = x.size() >> layout.mantissa;
    let m = (bits & layout.fraction) | layout.normal();
    // Where the bits that count begin: behind this many of the table, which starts with as many zeros that none is before it.
    let zeros = x.either(16, 64);
    let shift = exponent - (layout.bias + layout.mantissa + 2 - zeros);
    let first = shift >> x.either(5, 6);
    let b = shift & (width - 1);
    let table = |k: usize| {
        let at = 64 - zeros as usize + k * width as usize;
        let n = at / 64;
        let b = at % 64;
        let next = TWO_OVER_PI.get(n + 1).copied().unwrap_or(0);
        let wide = TWO_OVER_PI[n] << b | (next >> 1) >> (63 - b);
        let word = wide >> (64 - width);
        x.constant(Scalar::from_bits(m.ty(), word))
    };
    let choices = x.either(4, 17);
    let words =
        [0, 1, 2, 3].map(|k| (1..choices).fold(table(k), |word, n| word.replaced(first.eq(n as i64), table(n + k))));
    let window = |k: usize| (words[k] << b) | ((words[k + 1] >> 1) >> ((width - 1) - b));
    // The fraction is the low two words of m (w0 w1 . w2).
    let (p1, l1) = wide_product(m, window(1));
    let (p2, _) = wide_product(m, window(2));
    let low = l1 + p2;
    let carry = low.number(0).replaced(low.lt(l1), 1);
    let high = m * window(0) + p1 + carry;
    let n = (high + (1 << (width - 3))) >> (width - 2);
    // What is left, as a signed number of two words.
    let high = high - (n << (width - 2));
    let negative = high.signed().lt(0);
    let nl = 0 - low;
    let borrow = high.number(0).replaced(low.eq(0), 1);
    let low = low.replaced(negative, nl);
    let high = high.replaced(negative, !high + borrow);
    // The highest word of bits that count, and their place.
    let none = high.eq(0);
    let top = high.replaced(none, low);
    let next = low.replaced(none, 0);
    let by = (top | 1).op1(Operator::LeadingZeros);
    let top = (top << by) | ((next >> 1) >> ((width - 1) - by));
    let place = by.replaced(none, by + width);
    // A mantissa of it, in [1, 2), and the bits behind.
    let one = x.number(1.0).word();
    let lead = ((top >> layout.spare()) & layout.fraction | one).float();
    let rest = top & ((1 << layout.spare()) - 1);
    let rest = rest.cast(x.either(Ty::U8, Ty::U16)).cast(x.ty()) * 2f64.powi(1 - width as i32);
    // The highest bit stands for 2, and the one below it for pi/2.
    let unit = ((layout.bias + 1 - place) << layout.mantissa).float();
    let r = lead.fma(HALF_PI, lead * half_pi_low(x) + rest * HALF_PI) * unit;
    let r = r.replaced(high.eq(0) & low.eq(0), 0.0);
    let r = r.replaced(negative, -r);
    let positive = x.signed().ge(0);
    let r = (-r).replaced(positive, r);
    let q = (0 - n).replaced(positive, n);
    let infinite = x.size().ge(layout.infinity);
    (r.replaced(infinite, f64::NAN), q.signed())
}

/// sin `r` for |`r`| <= pi/4.
fn sin_near_0(r: E<'_>) -> E<'_> {
    let z = r * r;
    let s = z.polynomial(r.either(
        &[2.832_522_6e-6, -0.000_198_530_64, 0.008_333_379, -0.166_666_67],
        &[
            1.589_543_328_167_399_4e-10,
            -2.505_073_438_930_03e-8,
            2.755_731_353_851_576e-6,
            -0.000_198_412_698_293_585_33,
            0.008_333_333_333_321_84,
            -0.166_666_666_666_666_3,
        ],
    ));
    odd_sum(r, s, z)
}

/// cos `r` for |`r`| <= pi/4.
fn cos_near_0(r: E<'_>) -> E<'_> {
    (r * r).polynomial(r.either(
        &[2.443_242_2e-5, -0.001_388_731, 0.041_666_646, -0.5, 1.0],
        &[
            -1.135_873_906_054_320_3e-11,
            2.087_570_522_754_205_7e-9,
            -2.755_731_421_603_756_7e-7,
            2.480_158_728_899_958e-5,
            -0.001_388_888_888_887_334,
            0.041_666_666_666_666_595,
            -0.5,
            1.0,
        ],
    ))
}

/// sin(`r` + `q` pi/2) for |`r`| <= pi/4.
fn sin_quadrant<'a>(r: E<'a>, q: E<'a>) -> E<'a> {
    let y = sin_near_0(r).replaced((q & 1).ne(0), cos_near_0(r));
    (y.signed() ^ ((q & 2) << (r.layout().width - 2))).float()
}

pub(super) fn sin(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    sin_quadrant(r, q)
}

pub(super) fn cos(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    sin_quadrant(r, q + 1)
}

/// |`x`| = q / 2 + r with |r| <= 1/4, all of it exact: pi r, and q.
fn reduce_half_turns(x: E<'_>) -> (E<'_>, E<'_>) {
    let a = x.abs();
    let turn = a - (a * 0.5).op1(Operator::Trunc) * 2.0;
    let t = turn * 2.0 + x.shifter();
    ((t.unshifted() * -0.5 + turn) * PI, t.signed())
}

pub(super) fn sinpi(x: E<'_>) -> E<'_> {
    let (angle, q) = reduce_half_turns(x);
    let y = sin_quadrant(angle, q);
    // A zero has the sign of the number.
    let y = y.replaced(y.eq(0.0), 0.0);
    (y.word() ^ (x.word() & !x.layout().size)).float()
}

pub(super) fn cospi(x: E<'_>) -> E<'_> {
    let (angle, q) = reduce_half_turns(x);
    let y = sin_quadrant(angle, q + 1);
    y.replaced(y.eq(0.0), 0.0)
}

pub(super) fn tan(x: E<'_>) -> E<'_> {
    let (r, q) = reduce(x);
    let turned = (q & 1).ne(0);
    if x.ty() == Ty::F64 {
        let s = sin_near_0(r);
        let c = cos_near_0(r);
        return s.replaced(turned, -c) / c.replaced(turned, s);
    }
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
    let y = odd_sum(r, p, z);
    y.replaced(turned, -1.0 / y)
}

/// asin `z` for |`z`| <= 1/2, given s = z^2.
fn asin_near_0<'a>(z: E<'a>, s: E<'a>) -> E<'a> {
    let p = s.polynomial(z.either(
        &[0.037_691_11, 0.014_317_119_5, 0.031_838_83, 0.044_513_382, 0.075_005_22, 0.166_666_6],
        &[
            3.479_331_075_960_212e-5,
            0.000_791_534_994_289_814_5,
            -0.040_055_534_500_679_41,
            0.201_212_532_134_862_93,
            -0.325_565_818_622_400_9,
            0.166_666_666_666_666_66,
        ],
    ));
    if z.ty() == Ty::F64 {
        let q = s.polynomial(&[
            0.077_038_150_555_901_94,
            -0.688_283_971_605_453_3,
            2.020_945_760_233_505_7,
            -2.403_394_911_734_414,
            1.0,
        ]);
        return (s * p / q).mla(z, z);
    }
    (p * s).mla(z, z)
}

/// Whether |`x`| is above 1/2, and the arc sine of it, or where it is of sqrt((1 - |x|) / 2).
fn asin_parts(x: E<'_>) -> (E<'_>, E<'_>) {
    let a = x.abs();
    let h = a.mla(-0.5, 0.5);
    let far = a.gt(0.5);
    (far, asin_near_0(a.replaced(far, h.sqrt()), (a * a).replaced(far, h)))
}

/// A number of two words less 2 `r`. In `f32` the second word is less than what is rounded anyway.
fn minus_twice(high: f64, r: E<'_>, low: f64) -> E<'_> {
    if r.ty() == Ty::F64 { high - r.mla(2.0, -low) } else { r.mla(-2.0, high) }
}

pub(super) fn asin(x: E<'_>) -> E<'_> {
    let (far, r) = asin_parts(x);
    r.replaced(far, minus_twice(HALF_PI, r, half_pi_low(x))).with_sign_of(x)
}

pub(super) fn acos(x: E<'_>) -> E<'_> {
    let (far, r) = asin_parts(x);
    let near = HALF_PI - (r.with_sign_of(x) - half_pi_low(x));
    let below = minus_twice(PI, r, 2.0 * half_pi_low(x));
    let y = (r * 2.0).replaced(x.lt(0.0), below);
    near.replaced(far, y).replaced(x.is_nan(), x)
}

/// atan(`y` / `x`) for `y`, `x` >= 0, not both zero or infinite.
fn atan_ratio<'a>(y: E<'a>, x: E<'a>) -> E<'a> {
    if x.ty() == Ty::F64 { atan_by_thirds(y, x) } else { atan_by_halves(y, x) }
}

/// One division, of the smaller by the larger.
fn atan_by_halves<'a>(y: E<'a>, x: E<'a>) -> E<'a> {
    let steep = y.gt(x);
    let r = atan_near_0(y.replaced(steep, x) / x.replaced(steep, y));
    r.replaced(steep, HALF_PI - r)
}

/// atan `z` for 0 <= `z` <= 1, in `f32`.
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

/// One division, of (y - x) / (y + x) and pi/4 more in the middle, of -x / y and pi/2 more above.
fn atan_by_thirds<'a>(y: E<'a>, x: E<'a>) -> E<'a> {
    let above = y.gt(x * 2.4375);
    let below = y.lt(x * 0.4375);
    let z = (y - x).replaced(below, y).replaced(above, -x) / (y + x).replaced(below, x).replaced(above, y);
    let s = z * z;
    let p = s.polynomial(&[
        0.016_285_820_115_365_782,
        -0.036_531_572_744_216_916,
        0.049_768_779_946_159_324,
        -0.058_335_701_337_905_735,
        0.066_610_731_373_875_31,
        -0.076_918_762_050_448_3,
        0.090_908_871_334_365_07,
        -0.111_111_104_054_623_56,
        0.142_857_142_725_034_66,
        -0.199_999_999_998_764_83,
        0.333_333_333_333_329_3,
    ]);
    let part = |middle: f64, all: f64| x.number(middle).replaced(below, 0.0).replaced(above, all);
    let low = half_pi_low(x);
    part(HALF_PI / 2.0, HALF_PI) - ((z * s * p - part(low / 2.0, low)) - z)
}

pub(super) fn atan(x: E<'_>) -> E<'_> {
    let a = x.abs();
    if x.ty() == Ty::F64 {
        return atan_by_thirds(a, x.number(1.0)).with_sign_of(x);
    }
    let steep = a.gt(1.0);
    let r = atan_near_0(a.replaced(steep, 1.0 / a));
    r.replaced(steep, HALF_PI - r).with_sign_of(x)
}

pub(super) fn atan2<'a>(y: E<'a>, x: E<'a>) -> E<'a> {
    let ay = y.abs();
    let ax = x.abs();
    let (mut num, mut den) = (ay, ax);
    if x.ty() == Ty::F64 {
        // Sums of huge numbers and quotients of tiny ones stay in range.
        let m = ax.replaced(ay.gt(ax), ay);
        let s = x
            .number(1.0)
            .replaced(m.lt(2f64.powi(-900)), 2f64.powi(120))
            .replaced(m.gt(2f64.powi(1000)), 2f64.powi(-100));
        (num, den) = (ay * s, ax * s);
    }
    // 0/0 is 0 here and inf/inf is 1.
    let both = ay.signed().eq(ax.signed());
    let num = num.replaced(both, x.number(1.0).replaced(ay.signed().eq(0), 0.0));
    let den = den.replaced(both, 1.0);
    let r = atan_ratio(num, den);
    let r = r.replaced(x.signed().lt(0), PI - (r - 2.0 * half_pi_low(x)));
    r.replaced(x.is_nan() | y.is_nan(), f64::NAN).with_sign_of(y)
}
