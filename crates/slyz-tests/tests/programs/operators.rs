//! Operators on every element type, folds, and the corners of both.
#![allow(clippy::type_complexity)]

use slyz::prelude::*;
use slyz_sir::ops::Operator;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N);

/// Every method gives what the operator table says, on every type of its domain.
macro_rules! agree {
    ($x:expr, $y:expr; $t:ident: $($m:ident $op:ident),*; $($m2:ident $op2:ident),*) => {{
        // Devices are held to the table with its slack elsewhere; here the methods must name the right rows.
        let interpreter = slyz::device("interpreter")?;
        let (x, y): ($t, $t) = ($x, $y);
        $({
            let f = compile_on(&interpreter, |x: Exp<$t>| x.$m())?;
            let expected = Operator::$op.eval(&[x.scalar()]).map(Scalar::from_scalar);
            assert_eq!(Some(f.call(x)?.value()?), expected, "{} of {x:?}", stringify!($m));
        })*
        $({
            let f = compile_on(&interpreter, |x: Exp<$t>, y: Exp<$t>| x.$m2(y))?;
            let expected = Operator::$op2.eval(&[x.scalar(), y.scalar()]).map(Scalar::from_scalar);
            assert_eq!(Some(f.call(x, y)?.value()?), expected, "{} of {x:?}, {y:?}", stringify!($m2));
        })*
    }};
}

#[test]
fn operators() -> R {
    use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
    macro_rules! floats {
        ($($t:ident)*) => {$({
            let of = |x: f64| <$t as Float>::of(x);
            agree!(of(0.375), of(2.5); $t: neg Neg, abs Abs, sign Sign, floor Floor, ceil Ceil, round Round, trunc Trunc,
                sqrt Sqrt, rsqrt Rsqrt, cbrt Cbrt, recip Recip, exp Exp, exp2 Exp2, exp_m1 Expm1, ln Ln, log2 Log2,
                log10 Log10, ln_1p Ln1p, sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh,
                cosh Cosh, tanh Tanh, erf Erf, erfc Erfc, erfinv Erfinv, lgamma Lgamma, sin_pi Sinpi, cos_pi Cospi, is_nan IsNan, is_finite IsFinite;
                add Add, sub Sub, mul Mul, div Div, rem Rem, min Min, max Max, powf Pow, hypot Hypot, atan2 Atan2,
                lt Lt, le Le, gt Gt, ge Ge, eq Eq, ne Ne);
        })*};
    }
    floats!(f32 f64 f16 bf16);
    macro_rules! ints {
        ($($t:ident)*) => {$(
            agree!($t::MAX - 5, 3; $t: neg Neg, abs Abs, sign Sign, not Not, count_ones Popcount,
                leading_zeros LeadingZeros, trailing_zeros TrailingZeros, reverse_bits ReverseBits;
                add Add, sub Sub, mul Mul, div Div, rem Rem, min Min, max Max, bitand And, bitor Or, bitxor Xor,
                shl Shl, shr Shr, lt Lt, le Le, gt Gt, ge Ge, eq Eq, ne Ne);
        )*};
    }
    ints!(i8 i16 i32 i64 u8 u16 u32 u64);
    agree!(true, false; bool: not Not; bitand And, bitor Or, bitxor Xor, lt Lt, eq Eq, ne Ne);
    Ok(())
}

/// Where formulas multiply infinities by zero or subtract them.
#[test]
fn activations_at_the_ends() -> R {
    let inputs = [f32::NEG_INFINITY, -3e38, -100.0, 0.0, 100.0, f32::INFINITY, f32::NAN];
    for name in ["interpreter", "cpu"] {
        let device = slyz::device(name)?;
        let f = compile_on(&device, |x: Arr<f32, N>| (x.sigmoid(), x.softplus(), x.log_sigmoid(), x.gelu()))?;
        let (sigmoid, softplus, log_sigmoid, gelu) = f.call(&inputs)?;
        let infinity = f32::INFINITY;
        let ends = |values: Vec<f32>| {
            assert!(values[6].is_nan(), "{values:?}");
            [values[0], values[1], values[4], values[5]]
        };
        assert_eq!(ends(sigmoid.to_vec()?), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(ends(softplus.to_vec()?), [0.0, 0.0, 100.0, infinity]);
        assert_eq!(ends(log_sigmoid.to_vec()?), [-infinity, -3e38, -3.8e-44, 0.0]);
        assert_eq!(ends(gelu.to_vec()?), [0.0, 0.0, 100.0, infinity]);
    }
    Ok(())
}

#[test]
fn three_operands_and_conversions() -> R {
    let f = compile(|x: Exp<f32>| {
        (x.clamp(0.0, 1.0), x.mul_add(2.0, 1.0), x.powi(3), x.cast::<i32>(), x.bitcast::<u32>())
    })?;
    let (clamp, fma, power, int, bits) = f.call(2.5)?;
    assert_eq!((clamp.value()?, fma.value()?, int.value()?), (1.0, 6.0, 2));
    assert_eq!((power.value()?, bits.value()?), (15.625, 2.5f32.to_bits()));
    let e = compile(|x: Exp<f32>| x.bitcast::<u64>()).unwrap_err().to_string();
    assert!(e.contains("the widths differ") && e.contains("operators.rs"), "{e}");
    let f = compile(|x: Exp<u32>| {
        let mut y = x;
        y <<= 2;
        y |= 1;
        y -= 3;
        (y >> 1) ^ 0xff
    })?;
    assert_eq!(f.call(5)?.value()?, (((5 << 2) | 1) - 3) >> 1 ^ 0xff);
    Ok(())
}

#[test]
fn arrays_of_every_type() -> R {
    macro_rules! round_trip {
        ($($t:ident $x:expr, $y:expr;)*) => {$({
            let f = compile(|x: Arr<$t, N>| x.reverse())?;
            assert_eq!(f.call(&[$x, $y])?.to_vec()?, [$y, $x]);
        })*};
    }
    round_trip! {
        f32 1.5, -0.0; f64 1.5, f64::MIN_POSITIVE; i8 -1, 2; i16 -1, 2; i32 -1, 2; i64 i64::MIN, 2;
        u8 255, 2; u16 65535, 2; u32 u32::MAX, 2; u64 u64::MAX, 2; bool true, false;
        f16 f16::ONE, f16::NEG_ONE; bf16 bf16::ONE, bf16::NEG_ONE;
    }
    let f = compile(|x: Arr<(f32, [i8; 2], (bool, u64)), N>| x.reverse())?;
    let data = [(1f32, [1i8, -2], (true, 1u64 << 60)), (2f32, [3i8, -4], (false, 7))];
    assert_eq!(f.call(&data)?.to_vec()?, [data[1], data[0]]);
    Ok(())
}

#[test]
fn folds() -> R {
    let f = compile(|x: Arr<f32, N>| {
        let positive = x.map(|v| v.gt(0.0));
        (x.min(), x.max(), x.product(), positive.any(), positive.all(), positive.count())
    })?;
    let (least, most, product, some, every, count) = f.call(&[2f32, -3., 4., f32::NAN])?;
    assert_eq!(
        (least.value()?, most.value()?, some.value()?, every.value()?, count.value()?),
        (-3., 4., true, false, 2)
    );
    assert!(product.value()?.is_nan());
    // The order counts for a monoid that is not commutative.
    let f = compile(|x: Arr<u32, N>| {
        let digits = monoid((0u32, 1u32), |(a, p), (b, q)| (a * q + b, p * q));
        x.map(|d| (d, 10u32)).fold(digits).0
    })?;
    assert_eq!(f.call(&[1, 2, 3, 4])?.value()?, 1234);
    let f = compile(|x: Arr<f32, N>| x.fold(monoid(0f32, |a, b| a.max(b)).commutative()))?;
    assert_eq!(f.call(&[1f32, 5., 2.])?.value()?, 5.);
    let f = compile(|x: Arr<f32, N>| {
        (min(|i: Idx<N>| x.at(i)), any(|i: Idx<N>| x.at(i).lt(0.0)), argmax(|i: Idx<N>| -x.at(i)))
    })?;
    let (min, negative, at) = f.call(&[3f32, -1., 2.])?;
    assert_eq!((min.value()?, negative.value()?, at.value()?.get()), (-1., true, 1));
    Ok(())
}

#[test]
fn best_positions() -> R {
    let nan = f32::NAN;
    let f = compile(|x: Arr<f32, N>| (x.argmax(), x.argmin()))?;
    for (x, max, min) in [
        (vec![1f32, 3., 3., -2., -2.], 1, 3),
        (vec![nan, 1., nan, 2.], 3, 1),
        (vec![nan, nan], 0, 0),
        (vec![nan, f32::NEG_INFINITY, f32::INFINITY], 2, 1),
        (vec![f32::NEG_INFINITY; 3], 0, 0),
        (vec![0.0, -0.0], 0, 0),
    ] {
        let (a, b) = f.call(&x)?;
        assert_eq!((a.value()?.get(), b.value()?.get()), (max, min), "{x:?}");
    }
    let f = compile(|x: Arr<i8, N>| (x.argmax(), x.argmin()))?;
    let (a, b) = f.call(&[i8::MIN, i8::MIN])?;
    assert_eq!((a.value()?.get(), b.value()?.get()), (0, 0));
    let (a, b) = f.call(&[i8::MAX, i8::MAX])?;
    assert_eq!((a.value()?.get(), b.value()?.get()), (0, 0));
    Ok(())
}

/// Division by one number for all elements goes through its reciprocal; it must be the division all the same.
#[test]
fn division_by_one_number_is_division() -> Result<(), slyz::Error> {
    axis!(Many);
    let divide = slyz::compile(|x: Arr<f32, Many>, d: Exp<f32>| x / d)?;
    let mut bits = 1u32;
    let mut next = move || {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        f32::from_bits(bits)
    };
    let mut x: Vec<f32> = (0..5000).map(|_| next()).collect();
    x.extend((0..5000).map(|k| 1.0 + k as f32 * f32::EPSILON));
    x.extend([0.0, -0.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    let mut divisors = vec![3.0, -7.0, 0.1, 1.999_999_9, 1e-20, 1e30, 0.0, -0.0, f32::INFINITY, f32::NAN, 1e-45];
    divisors.extend((0..50).map(|_| next()));
    for d in divisors {
        for (found, x) in divide.call(&x, d)?.to_vec()?.iter().zip(&x) {
            let wanted = x / d;
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{x:e} / {d:e}: {found:e}"
            );
        }
    }
    Ok(())
}
