//! Exponentials and what is made of them.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::parts::{Kind, Shared};
use super::sheet::E;
use super::{Expansion, Table};
use crate::ops::Operator;
use crate::types::Ty;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[
    (Operator::Exp, Expansion::Unary(exp)),
    (Operator::Exp2, Expansion::Unary(exp2)),
    (Operator::Expm1, Expansion::Unary(expm1)),
    (Operator::Sinh, Expansion::Unary(sinh)),
    (Operator::Cosh, Expansion::Unary(cosh)),
    (Operator::Tanh, Expansion::Unary(tanh)),
];

/// The parts of operators that are called.
pub(super) const SHARED: &[&Shared] = &[&SCALE];

/// `p` 2^`n` for `p` near 1.
static SCALE: Shared = Shared {
    name: "scale",
    rare: false,
    params: &[Kind::Float, Kind::Whole],
    results: &[Kind::Float],
    write: |x| vec![if x[0].in_lanes() { scaled_in_lanes(x[0], x[1]) } else { scaled(x[0], x[1]) }],
};

/// 2^n for n in the range of normal exponents, from an integer as wide as the float.
pub(super) fn power_of_two(n: E<'_>) -> E<'_> {
    let layout = n.layout();
    ((n + layout.bias) << layout.mantissa).float()
}

pub(super) fn scale<'a>(p: E<'a>, n: E<'a>) -> E<'a> {
    p.shared(&SCALE, &[n])[0]
}

/// Where no lane is far from 1, `n` is added to the exponent. Results below the normal range are rounded as integers: subnormal
/// arithmetic is slow.
fn scaled_in_lanes<'a>(p: E<'a>, n: E<'a>) -> E<'a> {
    let layout = p.layout();
    let y = p.signed() + (n << layout.mantissa);
    let far = n.lt(2 - layout.bias) | n.gt(layout.bias - 2);
    let mended = far.mends(&[y], || {
        let unit = p.number(p.either(8_388_608.0, 4_503_599_627_370_496.0));
        let units = p * power_of_two(n + (layout.bias + layout.mantissa - 1)) + unit;
        let y = y.replaced(y.lt(layout.normal()), units.signed() - unit.signed());
        let y = y.replaced(n.gt(layout.bias - 2), (p * power_of_two(n - 1) * 2.0).signed());
        vec![y.replaced(p.ne(p), p.signed())]
    });
    mended[0].float()
}

/// Results below the normal range are rounded as integers: a GPU may have no subnormal arithmetic.
fn scaled<'a>(p: E<'a>, n: E<'a>) -> E<'a> {
    let layout = p.layout();
    let clamped = |low: i64, high: i64| n.op2(Operator::Max, low).op2(Operator::Min, high);
    let y = p.signed() + (n << layout.mantissa);
    let low = clamped(p.either(-160, -1100), p.either(-100, -1000));
    let unit = p.number(p.either(8_388_608.0, 4_503_599_627_370_496.0));
    let units = p * power_of_two(low + (layout.bias + layout.mantissa - 1)) + unit;
    let below = n.lt(2 - layout.bias) & y.lt(layout.normal());
    let y = y.replaced(below, units.signed() - unit.signed());
    let high = clamped(p.either(100, 1000), p.either(129, 1025));
    let y = y.replaced(n.gt(layout.bias - 2), (p * power_of_two(high - 1) * 2.0).signed());
    y.float().replaced(p.is_nan(), p)
}

/// `x` = n ln 2 + r, where n has half the bits of a mantissa: r and n.
pub(super) fn split_exp(x: E<'_>) -> (E<'_>, E<'_>) {
    let t = x.mla(x.either(1.442_695, 1.442_695_040_888_963_4), x.shifter());
    let j = t.unshifted();
    let r = j.fma(x.either(-0.693_147_2, -0.693_147_180_559_945_3), x);
    (j.fma(x.either(1.904_654_2e-9, -2.319_046_813_846_299_6e-17), r), t.shifted())
}

/// e^`r` for |`r`| <= ln(2) / 2.
pub(super) fn exp_near_0(r: E<'_>) -> E<'_> {
    r.polynomial(r.either(
        &[0.001_382_317_9, 0.008_369_248, 0.041_668_244, 0.166_665_15, 0.499_999_94, 1.0, 1.0],
        &[
            2.501_636_761_597_329_3e-8,
            2.762_986_949_900_742_4e-7,
            2.755_752_163_377_054_3e-6,
            2.480_149_407_245_736_7e-5,
            0.000_198_412_696_000_753_4,
            0.001_388_888_894_289_357,
            0.008_333_333_333_436_605,
            0.041_666_666_666_531_11,
            0.166_666_666_666_665_4,
            0.500_000_000_000_001_1,
            1.0,
            1.0,
        ],
    ))
}

/// e^`x` 2^`k`.
fn exp_scaled(x: E<'_>, k: i64) -> E<'_> {
    let (most, least) = x.either((89.5, -105.0), (710.5, -746.0));
    let x = x.replaced(x.gt(most), most);
    let x = x.replaced(x.lt(least), least);
    let (r, n) = split_exp(x);
    scale(exp_near_0(r), n + k)
}

pub(super) fn exp(x: E<'_>) -> E<'_> {
    if !x.is_fused() || x.ty() == Ty::F64 {
        return exp_scaled(x, 0);
    }
    // Results of these are normal: n goes right into the exponent, and what else is in t's bits leaves at the top.
    let usual = x.abs().lt(87.0);
    let near = || {
        let t = x.mla(1.442_695, x.shifter());
        let j = t.unshifted();
        let r = j.fma(1.904_654_2e-9, j.fma(-0.693_147_2, x));
        vec![(exp_near_0(r).signed() + (t.signed() << 23)).float()]
    };
    usual.branch(near, || vec![exp_scaled(x, 0)])[0]
}

/// 2^(`x` + `low`) for a small second word.
pub(super) fn exp2_words<'a>(x: E<'a>, low: E<'a>) -> E<'a> {
    let (most, least) = x.either((129.0, -151.0), (1025.0, -1076.0));
    let x = x.replaced(x.gt(most), most);
    let x = x.replaced(x.lt(least), least);
    let t = x + x.shifter();
    let part = x - t.unshifted();
    let p = if x.ty() == Ty::F64 {
        let ln2 = x.number(0.693_147_180_559_945_3);
        let r = part * ln2;
        let rest = part.fma(ln2, -r) + part.mla(2.319_046_813_846_299_6e-17, low * ln2);
        let p = exp_near_0(r);
        p.mla(rest, p)
    } else {
        (part + low).polynomial(&[
            0.000_133_468_71,
            0.001_338_797_4,
            0.009_625_42,
            0.055_503_663,
            0.240_225_94,
            0.693_147_2,
            1.0,
        ])
    };
    scale(p, t.shifted())
}

pub(super) fn exp2(x: E<'_>) -> E<'_> {
    exp2_words(x, x.number(0.0))
}

pub(super) fn expm1(x: E<'_>) -> E<'_> {
    let (most, least) = x.either((89.0, -20.0), (710.0, -40.0));
    let near = x.replaced(x.gt(most), most);
    let near = near.replaced(near.lt(least), least);
    let (r, n) = split_exp(near);
    let p = r.polynomial(r.either(
        &[0.000_149_642_76, 0.001_393_042_5, 0.008_341_579, 0.041_666_51, 0.166_666_36, 0.5],
        &[
            2.090_140_408_767_078e-9,
            2.510_863_668_456_633_7e-8,
            2.755_730_543_284_523e-7,
            2.755_724_520_016_055_2e-6,
            2.480_158_730_539_834_3e-5,
            0.000_198_412_698_854_014_26,
            0.001_388_888_888_888_320_2,
            0.008_333_333_333_321_74,
            0.041_666_666_666_666_69,
            0.166_666_666_666_666_77,
            0.5,
        ],
    ));
    let q = p.mla(r * r, r);
    let half = power_of_two(n - 1); // finite where 2^n is not
    let y = half.fma(q, half - 0.5) * 2.0;
    let y = y.replaced(n.eq(0), q.replaced(x.eq(0.0), x));
    // A NaN is in r, and so in y, unless a GPU takes it for a number.
    if x.in_lanes() { y } else { y.replaced(x.is_nan(), x) }
}

pub(super) fn sinh(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let e = exp_scaled(a, -1);
    let y = if x.ty() == Ty::F64 {
        let t = expm1(a);
        let d = t + 1.0;
        let near = (t + t / d).replaced(a.lt(1.0), t * 2.0 - t * t / d) * 0.5;
        e.replaced(a.lt(22.0), near)
    } else {
        let z = x * x;
        let p = z.polynomial(&[2.782_219_8e-6, 0.000_198_428_96, 0.008_333_310_5, 0.166_666_67]);
        (e - 0.25 / e).replaced(a.lt(1.0), (p * z).mla(a, a))
    };
    y.with_sign_of(x)
}

pub(super) fn cosh(x: E<'_>) -> E<'_> {
    let e = exp_scaled(x.abs(), -1);
    e + 0.25 / e
}

pub(super) fn tanh(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let y = if x.ty() == Ty::F64 {
        let t = expm1(a.replaced(a.gt(22.0), 22.0) * 2.0);
        t / (t + 2.0)
    } else {
        let z = x * x;
        let p = z.polynomial(&[-0.005_696_119_7, 0.020_630_477, -0.053_736_854, 0.133_314_06, -0.333_332_8]);
        let near = (p * z).mla(a, a);
        let far = 1.0 - 2.0 / (exp(a + a) + 1.0);
        far.replaced(a.lt(0.625), near)
    };
    y.with_sign_of(x)
}
