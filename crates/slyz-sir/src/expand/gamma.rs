//! The logarithm of the gamma function.
// Coefficients and first words of constants are near the constants, and not all of them are the nearest number.
#![allow(clippy::approx_constant)]

use super::logarithm::ln;
use super::sheet::E;
use super::trigonometry::sinpi;
use super::{Expansion, Table};
use crate::ops::Operator;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[(Operator::Lgamma, Expansion::Unary(lgamma))];

/// From here on Stirling's series has all digits.
const LARGE: f64 = 8.0;

/// Positive numbers, and negative ones near 0, by [`of_positive`]; the others by reflection: gamma(x) gamma(-x) = -pi / (x sin(pi x)).
/// Its two logarithms cancel at the negative roots, which is what the row's floor is for.
fn lgamma(x: E<'_>) -> E<'_> {
    let a = x.abs();
    let reflected = !x.gt(-0.3);
    let y = of_positive(x.replaced(reflected, a), a);
    let y = reflected.branch(
        || {
            let s = sinpi(a).abs();
            let y = ln(std::f64::consts::PI / (s * a)) - y;
            // A whole number is a pole.
            vec![y.replaced(s.eq(0.0), f64::INFINITY)]
        },
        || vec![y],
    )[0];
    y.replaced(a.eq(f64::INFINITY), f64::INFINITY).replaced(x.is_nan(), x)
}

/// The logarithm of gamma(`x`) for `x` > -0.3, whose size is `a`: moved to 1 + u, -0.3 <= u < 1.7, by gamma(x + 1) = x gamma(x).
fn of_positive<'a>(x: E<'a>, a: E<'a>) -> E<'a> {
    let below = x.lt(0.7);
    let mut u = (x - 1.0).replaced(below, x);
    let mut factor = x.number(1.0);
    for _ in 0..6 {
        let above = u.ge(1.7);
        factor = factor.replaced(above, factor * u);
        u = u.replaced(above, u - 1.0);
    }
    let large = a.ge(LARGE);
    let log = ln(factor.replaced(below, a).replaced(large, a));
    let near = near_roots(u) + log.replaced(below, -log);
    let far = (a - 0.5).mla(log - 1.0, stirling(a));
    near.replaced(large, far)
}

/// The logarithm of gamma(1 + `u`): both roots, 0 and 1, are factors, so that no digits are lost near them.
fn near_roots(u: E<'_>) -> E<'_> {
    let p = (u - 0.7).polynomial(u.either(
        &[
            6.841_541e-5,
            -0.000_122_724_68,
            -3.569_364e-5,
            6.125_03e-5,
            0.000_280_407_3,
            -0.000_514_043_44,
            0.000_655_541,
            -0.001_243_493_6,
            0.002_515_739_5,
            -0.004_928_295,
            0.009_915_665,
            -0.020_919_072,
            0.047_515_694,
            -0.124_081_1,
            0.456_227_12,
        ],
        &[
            1.392_728_255_378_802_3e-8,
            -2.426_295_239_150_200_8e-8,
            -7.260_461_240_791_127e-8,
            1.263_905_401_006_310_7e-7,
            2.107_250_207_214_066_5e-7,
            -3.669_355_379_415_482_6e-7,
            -3.325_299_428_216_402_5e-7,
            5.784_382_095_460_784e-7,
            4.636_268_285_483_314_5e-7,
            -8.084_043_433_392_357e-7,
            -1.647_917_980_334_098_6e-7,
            2.812_432_763_718_277_4e-7,
            7.509_492_500_904_176e-7,
            -1.328_159_809_500_397_9e-6,
            1.643_704_889_131_309e-6,
            -2.942_296_632_383_085e-6,
            5.584_748_035_844_980_5e-6,
            -1.003_762_948_490_177e-5,
            1.800_629_989_657_519e-5,
            -3.260_364_026_292_501_4e-5,
            5.931_778_743_796_108e-5,
            -0.000_108_435_163_045_585_67,
            0.000_199_429_829_552_931_82,
            -0.000_369_491_804_855_719_94,
            0.000_690_797_772_620_778_6,
            -0.001_306_412_572_439_144_1,
            0.002_508_055_186_352_353,
            -0.004_914_583_588_929_195_5,
            0.009_916_391_505_275_042,
            -0.020_920_367_523_818_924,
            0.047_515_672_834_976_014,
            -0.124_081_060_331_233_16,
            0.456_227_130_509_837_43,
        ],
    ));
    u * (u - 1.0) * p
}

/// What is left of the logarithm of gamma(`a`) beside (a - 1/2) (ln a - 1): ln(2 pi) / 2 - 1/2, and Stirling's series.
fn stirling(a: E<'_>) -> E<'_> {
    let w = 1.0 / a;
    let series = (w * w).polynomial(a.either(
        &[-0.002_765_501_8, 0.083_333_306],
        &[
            -0.001_652_600_445_559_512_2,
            0.000_837_283_451_207_133_6,
            -0.000_595_202_595_180_271_2,
            0.000_793_650_664_948_825_2,
            -0.002_777_777_777_606_244,
            0.083_333_333_333_333_3,
        ],
    ));
    w.mla(series, 0.418_938_533_204_672_7)
}
