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
    (Operator::Erf, Expansion::Unary(erf)),
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

/// Adding it leaves the nearest whole number in the low bits.
fn shifter(x: E<'_>) -> E<'_> {
    x.number(x.either(12_582_912.0, 6_755_399_441_055_744.0))
}

/// The whole number that the shifter was added to.
fn shifted(t: E<'_>) -> E<'_> {
    t.signed() - shifter(t).signed()
}

fn scale<'a>(p: E<'a>, n: E<'a>) -> E<'a> {
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
fn split_exp(x: E<'_>) -> (E<'_>, E<'_>) {
    let t = x.mla(x.either(1.442_695, 1.442_695_040_888_963_4), shifter(x));
    let j = t - shifter(x);
    let r = j.fma(x.either(-0.693_147_2, -0.693_147_180_559_945_3), x);
    (j.fma(x.either(1.904_654_2e-9, -2.319_046_813_846_299_6e-17), r), shifted(t))
}

/// e^`r` for |`r`| <= ln(2) / 2.
fn exp_near_0(r: E<'_>) -> E<'_> {
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
        let t = x.mla(1.442_695, shifter(x));
        let j = t - shifter(x);
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
    let t = x + shifter(x);
    let part = x - (t - shifter(x));
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
    scale(p, shifted(t))
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

pub(super) fn erf(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let y = if x.ty() == Ty::F64 { erf_by_ranges(a) } else { erf_by_exp(a) };
    y.with_sign_of(x)
}

/// Far from 0, the complement is exp(-t + t q(t)).
fn erf_by_exp(a: E<'_>) -> E<'_> {
    let z = a * a;
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
    let near = p.mla(a, a);
    let far = 1.0 - exp(q.mla(t, -t));
    far.replaced(a.lt(0.925), near)
}

/// The ranges and rational approximations of fdlibm (Sun Microsystems, 1993, freely granted).
fn erf_by_ranges(a: E<'_>) -> E<'_> {
    if a.in_lanes() {
        let y = erf_near_0(a);
        let y = (!a.lt(0.843_75)).mends(&[y], || vec![erf_near_1(a)])[0];
        return (!a.lt(1.25)).mends(&[y], || vec![erf_far(a)])[0];
    }
    let far = || a.lt(1.25).branch(|| vec![erf_near_1(a)], || vec![erf_far(a)]);
    // A NaN is below nothing, and stays one on the last road.
    a.lt(0.843_75).branch(|| vec![erf_near_0(a)], far)[0]
}

fn erf_near_0(a: E<'_>) -> E<'_> {
    let z = a * a;
    let p = z.polynomial(&[
        -2.376_301_665_665_016_3e-5,
        -0.005_770_270_296_489_442,
        -0.028_481_749_575_598_51,
        -0.325_042_107_247_001_5,
        0.128_379_167_095_512_56,
    ]);
    let q = z.polynomial(&[
        -3.960_228_278_775_368e-6,
        0.000_132_494_738_004_321_64,
        0.005_081_306_281_875_766,
        0.065_022_249_988_767_3,
        0.397_917_223_959_155_35,
        1.0,
    ]);
    a.mla(p / q, a)
}

fn erf_near_1(a: E<'_>) -> E<'_> {
    let s = a - 1.0;
    let p = s.polynomial(&[
        -0.002_166_375_594_868_791,
        0.035_478_304_325_618_236,
        -0.110_894_694_282_396_68,
        0.318_346_619_901_161_75,
        -0.372_207_876_035_701_3,
        0.414_856_118_683_748_33,
        -0.002_362_118_560_752_659_4,
    ]);
    let q = s.polynomial(&[
        0.011_984_499_846_799_107,
        0.013_637_083_912_029_05,
        0.126_171_219_808_761_64,
        0.071_828_654_414_196_27,
        0.540_397_917_702_171,
        0.106_420_880_400_844_23,
        1.0,
    ]);
    p / q + 0.845_062_911_510_467_5
}

/// Two ranges that part at 1/0.35, in one walk over pairs of coefficients.
fn erf_far(a: E<'_>) -> E<'_> {
    let a = a.replaced(a.gt(6.0), 6.0);
    let near = a.lt(2.857_142_857_142_857);
    let s = 1.0 / (a * a);
    let either = |pair: &(f64, f64)| s.number(pair.1).replaced(near, pair.0);
    let polynomial = |pairs: &[(f64, f64)]| pairs.iter().fold(s.number(0.0), |sum, pair| sum.mla(s, either(pair)));
    let p = polynomial(&[
        (-9.814_329_344_169_145, 0.0),
        (-81.287_435_506_306_6, -483.519_191_608_651_4),
        (-184.605_092_906_711_04, -1_025.095_131_611_077_2),
        (-162.396_669_462_573_47, -637.566_443_368_389_6),
        (-62.375_332_450_326_006, -160.636_384_855_821_92),
        (-10.558_626_225_323_291, -17.757_954_917_754_752),
        (-0.693_858_572_707_181_8, -0.799_283_237_680_523),
        (-0.009_864_944_034_847_148, -0.009_864_942_924_700_1),
    ]);
    let q = polynomial(&[
        (-0.060_424_415_214_858_1, 0.0),
        (6.570_249_770_319_282, -22.440_952_446_585_82),
        (108.635_005_541_779_44, 474.528_541_206_955_37),
        (429.008_140_027_567_83, 2_553.050_406_433_164_4),
        (645.387_271_733_267_9, 3_199.858_219_508_595_5),
        (434.565_877_475_229_23, 1_536.729_586_084_437),
        (137.657_754_143_519_04, 325.792_512_996_573_9),
        (19.651_271_667_439_257, 30.338_060_743_482_46),
        (1.0, 1.0),
    ]);
    1.0 - exp(p / q - 0.5625 - a * a) / a
}
