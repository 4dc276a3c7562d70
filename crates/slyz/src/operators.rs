//! Operators of the table that are methods, listed once: elements and arrays both have them.
//!
//! A list is handed to the macro of whoever wants it, which knows what its methods look like: the name, another operand, whether
//! the result has the `same` type or is a `test`, the operator, and what it does.

/// Bits of integers.
macro_rules! bits_of_integers {
    ($methods:ident $(#[$about:meta])*) => {
        $methods! {
            $(#[$about])*
            Int;
            count_ones() -> same Popcount "The number of bits that are set.";
            leading_zeros() -> same LeadingZeros "Zero bits above the highest set bit.";
            trailing_zeros() -> same TrailingZeros "Zero bits below the lowest set bit.";
            reverse_bits() -> same ReverseBits "The same bits in the opposite order.";
        }
    };
}

/// Mathematics.
macro_rules! mathematics {
    ($methods:ident $(#[$about:meta])*) => {
        $methods! {
            $(#[$about])*
            Float;
            floor() -> same Floor "The largest whole number not above.";
            ceil() -> same Ceil "The smallest whole number not below.";
            round() -> same Round "The nearest whole number, ties away from zero.";
            trunc() -> same Trunc "The whole part.";
            sqrt() -> same Sqrt "The square root.";
            rsqrt() -> same Rsqrt "`1 / sqrt(x)`.";
            cbrt() -> same Cbrt "The cube root.";
            recip() -> same Recip "`1 / x`.";
            exp() -> same Exp "e to the power.";
            exp2() -> same Exp2 "2 to the power.";
            exp_m1() -> same Expm1 "`e^x - 1`, precise near 0.";
            ln() -> same Ln "The natural logarithm.";
            log2() -> same Log2 "The logarithm to base 2.";
            log10() -> same Log10 "The logarithm to base 10.";
            ln_1p() -> same Ln1p "`ln(1 + x)`, precise near 0.";
            powf(exponent) -> same Pow "A power; negative bases need whole exponents. The constants 1 to 4, -1, -2, 0.5, 1.5, 2.5 and -0.5 become products and roots.";
            hypot(other) -> same Hypot "`sqrt(x² + y²)` without early overflow.";
            sin() -> same Sin "The sine of radians.";
            cos() -> same Cos "The cosine of radians.";
            tan() -> same Tan "The tangent of radians.";
            asin() -> same Asin "The arc sine.";
            acos() -> same Acos "The arc cosine.";
            atan() -> same Atan "The arc tangent.";
            atan2(x) -> same Atan2 "The angle of the point `(x, self)`.";
            sinh() -> same Sinh "The hyperbolic sine.";
            cosh() -> same Cosh "The hyperbolic cosine.";
            tanh() -> same Tanh "The hyperbolic tangent.";
            erf() -> same Erf "The error function.";
            erfc() -> same Erfc "`1 - erf(x)`, precise where that is small.";
            erfinv() -> same Erfinv "The number whose error function it is, between -1 and 1.";
            lgamma() -> same Lgamma "The logarithm of the size of the gamma function.";
            sin_pi() -> same Sinpi "`sin(pi x)`, precise for large numbers and zeros.";
            cos_pi() -> same Cospi "`cos(pi x)`, precise for large numbers and zeros.";
            is_nan() -> test IsNan "Is it not a number?";
            is_finite() -> test IsFinite "Is it neither NaN nor infinite?";
        }
    };
}

pub(crate) use {bits_of_integers, mathematics};
