//! The error function, its complement and its inverse.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::exponential::{exp, exp_near_0, scale, split_exp};
use super::logarithm::ln;
use super::sheet::E;
use super::{Expansion, Table};
use crate::ops::Operator;
use crate::types::Ty;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[
    (Operator::Erf, Expansion::Unary(erf)),
    (Operator::Erfc, Expansion::Unary(erfc)),
    (Operator::Erfinv, Expansion::Unary(erfinv)),
];

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
    by_ranges(
        a,
        || a.mla(erf_near_0(a), a),
        || erf_near_1(a) + NEAR_1,
        || {
            let a = a.replaced(a.gt(6.0), 6.0);
            1.0 - exp(erf_far(a) - a * a) / a
        },
    )
}

/// Below 27/32, below 5/4, and from there on. A NaN is below nothing, and stays one on the last road.
fn by_ranges<'a>(
    a: E<'a>,
    near_0: impl FnOnce() -> E<'a>,
    near_1: impl FnOnce() -> E<'a>,
    far: impl FnOnce() -> E<'a>,
) -> E<'a> {
    let middle = || a.lt(1.25).branch(|| vec![near_1()], || vec![far()]);
    if !a.in_lanes() {
        return a.lt(0.843_75).branch(|| vec![near_0()], middle)[0];
    }
    (!a.lt(0.843_75)).mends(&[near_0()], middle)[0]
}

/// erf of 1, with few bits.
const NEAR_1: f64 = 0.845_062_911_510_467_5;

/// The complement of erf.
pub(super) fn erfc(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let below = x.lt(0.0);
    let near_0 = || {
        let rest = x * erf_near_0(a);
        (0.5 - ((x - 0.5) + rest)).replaced(x.lt(0.25), 1.0 - (x + rest))
    };
    let near_1 = || {
        let rest = erf_near_1(a);
        ((1.0 - NEAR_1) - rest).replaced(below, rest + NEAR_1 + 1.0)
    };
    let far = || {
        let y = erfc_far(a);
        y.replaced(below, 2.0 - y)
    };
    by_ranges(a, near_0, near_1, far)
}

/// erfc(a) for a >= 5/4: exp(-a^2 + ...) / a, with what a^2 loses when it is rounded.
fn erfc_far(a: E<'_>) -> E<'_> {
    let most = a.either(11.0, 28.0);
    let a = a.replaced(a.gt(most), most);
    let square = a * a;
    let lost = a.fma(a, -square);
    let rest = erf_far(a);
    let sum = rest - square;
    let low = ((-square - sum) + rest) - lost;
    exp_words(sum, low) / a
}

/// e^(`x` + `low`) for a small second word.
fn exp_words<'a>(x: E<'a>, low: E<'a>) -> E<'a> {
    let least = x.either(-105.0, -746.0);
    let x = x.replaced(x.lt(least), least);
    let (r, n) = split_exp(x);
    scale(exp_near_0(r + low), n)
}

/// An estimate, and in `f64` two steps of Halley's method.
pub(super) fn erfinv(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let log = -ln((-a).fma(a, 1.0));
    let y = a * erfinv_ratio(log);
    let y = if x.ty() == Ty::F64 { halley(halley(erfinv_far(a, y, log), a), a) } else { y };
    let y = y.replaced(a.eq(1.0), f64::INFINITY).replaced(a.gt(1.0), f64::NAN).with_sign_of(x);
    y.replaced(x.is_nan() | x.eq(0.0), x)
}

/// erfinv(a) / a for w = -ln(1 - a^2) up to 16 (Giles).
fn erfinv_ratio(w: E<'_>) -> E<'_> {
    let near = (w - 2.5).polynomial(&[
        2.810_226_36e-8,
        3.432_739_39e-7,
        -3.523_387_7e-6,
        -4.391_506_54e-6,
        0.000_218_580_87,
        -0.001_253_725_03,
        -0.004_177_681_64,
        0.246_640_727,
        1.501_409_41,
    ]);
    let far = (w.sqrt() - 3.0).polynomial(&[
        -0.000_200_214_257,
        0.000_100_950_558,
        0.001_349_343_22,
        -0.003_673_428_44,
        0.005_739_507_73,
        -0.007_622_461_3,
        0.009_438_870_47,
        1.001_674_06,
        2.832_976_82,
    ]);
    far.replaced(w.lt(5.0), near)
}

/// Where only `f64` reaches, the square follows from the first terms of erfc for large numbers.
fn erfinv_far<'a>(a: E<'a>, y: E<'a>, log: E<'a>) -> E<'a> {
    const PI: f64 = std::f64::consts::PI;
    let w = -ln(1.0 - a);
    let first = w - ln(w * PI) * 0.5;
    let second = w - ln(first * PI) * 0.5 - 0.5 / first;
    y.replaced(log.gt(16.0), second.sqrt())
}

/// A better `y` with erf(`y`) = `a`: what erf misses, over its slope.
fn halley<'a>(y: E<'a>, a: E<'a>) -> E<'a> {
    let near = y.op1(Operator::Erf) - a;
    let far = (1.0 - a) - y.op1(Operator::Erfc);
    let miss = far.replaced(a.lt(0.5), near);
    let step = miss * exp(y * y) * (1.0 / std::f64::consts::FRAC_2_SQRT_PI);
    y - step / y.mla(step, 1.0)
}

/// erf(a) / a - 1.
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
    p / q
}

/// erf(a), less that of 1.
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
    p / q
}

/// ln(a erfc(a)) + a^2: two ranges that part at 1/0.35, in one walk over pairs of coefficients.
fn erf_far(a: E<'_>) -> E<'_> {
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
    p / q - 0.5625
}
