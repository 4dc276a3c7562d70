//! Exact arithmetic: rounding to whole numbers, remainders, and products that are added before they are rounded.

use super::sheet::{E, function, repeat};
use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;

/// The nearest whole number, ties away from zero.
pub(super) fn round(x: E<'_>) -> E<'_> {
    let whole = x.op1(Operator::Trunc);
    let up = (x - whole).abs().ge(0.5);
    let next = whole + x.op1(Operator::Sign);
    // Large numbers and infinities have no fraction; their difference may be a NaN, which is not above a half.
    whole.replaced(up, next)
}

/// The remainder with the sign of the dividend, by subtracting shifted divisors.
pub(super) fn rem<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let (xs, ys) = (x.bits(Ty::U32) & 0x7fff_ffff, y.bits(Ty::U32) & 0x7fff_ffff);
    let infinity = 0x7f80_0000;
    let undefined = xs.ge(infinity) | ys.gt(infinity) | ys.eq(0);
    let small = xs.lt(ys);
    let nan = x.number(f32::NAN);
    let results = (undefined | small).branch(
        || vec![x.replaced(undefined, nan)],
        || {
            let ((mx, ex), (my, ey)) = (split(xs), split(ys));
            let left =
                repeat(&[mx, ex], |state| state[1].gt(ey), |state| vec![(less(state[0], my)) << 1, state[1] - 1]);
            let rest = less(left[0], my);
            // rest 2^(ey - 150), back in bits.
            let shift = (rest | 1).op1(Operator::LeadingZeros) - 8;
            let exponent = ey - shift.bits(Ty::I32);
            let normal = (exponent.bits(Ty::U32) << 23) + ((rest << shift) & 0x7f_ffff);
            let up = rest << (ey - 1).op2(Operator::Max, 0).bits(Ty::U32);
            let down = rest >> (1 - ey).op2(Operator::Max, 0).op2(Operator::Min, 31).bits(Ty::U32);
            let subnormal = up.replaced(ey.lt(1), down);
            let bits = normal.replaced(exponent.lt(1), subnormal).replaced(rest.eq(0), 0);
            vec![(bits | (x.bits(Ty::U32) & 0x8000_0000)).bits(Ty::F32)]
        },
    );
    results[0]
}

fn less<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    x.replaced(x.ge(y), x - y)
}

/// A 24-bit mantissa and the exponent that belongs to it, from the bits of a positive number.
fn split(bits: E<'_>) -> (E<'_>, E<'_>) {
    let (exponent, fraction) = (bits >> 23, bits & 0x7f_ffff);
    let shift = (fraction | 1).op1(Operator::LeadingZeros) - 8;
    let tiny = exponent.eq(0);
    let mantissa = (fraction | 0x80_0000).replaced(tiny, fraction << shift);
    let exponent = exponent.bits(Ty::I32).replaced(tiny, 1 - shift.bits(Ty::I32));
    (mantissa, exponent)
}

/// `a * b + c` on `f32` with one rounding, for a target with `f64` and 64-bit integers.
pub fn fma_by_f64() -> Function {
    function("fma_f32", &[Ty::F32; 3], |x| {
        let [a, b, z] = [x[0], x[1], x[2]].map(|x| x.cast(Ty::F64));
        // The product is exact. Rounding the sum to odd keeps the second rounding from being fooled by the first.
        let p = a * b;
        let s = p + z;
        let t = s - p;
        let lost = (p - (s - t)) + (z - t);
        let bits = s.bits(Ty::I64);
        let (more, less, below) = (lost.gt(0.0), lost.lt(0.0), s.lt(0.0));
        let away = (more & !below) | (less & below);
        let even = (bits & 1).eq(0) & (more | less);
        let by = bits.number(0).replaced(even, bits.number(-1).replaced(away, 1));
        let odd = (bits + by).bits(Ty::F64);
        vec![s.replaced(even, odd).cast(Ty::F32)]
    })
}

/// `a * b + c` with one rounding, in the type itself: the sum of three words, the lower two rounded to odd. It needs operands
/// whose product neither overflows nor is near the subnormal numbers; there it rounds twice. `f64` needs 64-bit integers.
pub fn fma_by_words(ty: Ty) -> Function {
    function(&format!("fma_{ty}"), &[ty; 3], |x| {
        let (a, b, c) = (x[0], x[1], x[2]);
        let plain = a * b + c;
        let (high, low) = product(a, b);
        let (th, tl) = sum(c, low);
        let (vh, vl) = sum(high, th);
        let (z, lost) = sum(tl, vl);
        let bits = z.bits(if ty == Ty::F64 { Ty::I64 } else { Ty::I32 });
        let inexact = lost.ne(0.0);
        let away = (lost.gt(0.0) & z.gt(0.0)) | (lost.lt(0.0) & z.lt(0.0));
        let by = bits.number(-1).replaced(away, 1);
        let odd = (bits + by).bits(ty);
        let z = z.replaced(inexact & (bits & 1).eq(0), odd);
        let result = vh + z;
        let size = (a * b).abs();
        let (factor, most, least) = if ty == Ty::F64 { (1e290, 1e300, 1e-250) } else { (1e30, 1e37, 1e-30) };
        let tame = a.abs().lt(factor) & b.abs().lt(factor) & size.lt(most) & size.gt(least) & c.abs().lt(most);
        vec![plain.replaced(tame & result.is_finite(), result)]
    })
}

/// A sum and what its rounding lost.
fn sum<'a>(a: E<'a>, b: E<'a>) -> (E<'a>, E<'a>) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// A product and what its rounding lost, by halves of the mantissa.
fn product<'a>(a: E<'a>, b: E<'a>) -> (E<'a>, E<'a>) {
    let half = |x: E<'a>| {
        let top = match x.ty() {
            Ty::F64 => (x.bits(Ty::I64) & -0x800_0000).bits(Ty::F64),
            _ => (x.bits(Ty::U32) & 0xffff_f000).bits(Ty::F32),
        };
        (top, x - top)
    };
    let p = a * b;
    let ((ah, al), (bh, bl)) = (half(a), half(b));
    (p, al * bl - (((p - ah * bh) - al * bh) - ah * bl))
}
