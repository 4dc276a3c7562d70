//! Conversions with one rounding, in integers: the conversions of GPUs may round as they like and lose subnormals.

use super::sheet::{E, function};
use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;

/// The bits of the `f16` nearest to an `f32`, in a `u32`.
pub fn pack_f16() -> Function {
    function("pack_f16", &[Ty::F32], |x| vec![pack(x[0])])
}

/// The `f32` that the low 16 bits of a `u32` mean as `f16`.
pub fn unpack_f16() -> Function {
    function("unpack_f16", &[Ty::U32], |x| vec![unpack(x[0])])
}

/// An `f32` rounded to the nearest `f16`.
pub fn round_f16() -> Function {
    function("round_f16", &[Ty::F32], |x| vec![unpack(pack(x[0]))])
}

/// An `f32` rounded to the nearest `bf16`.
pub fn round_bf16() -> Function {
    function("round_bf16", &[Ty::F32], |x| {
        let bits = x[0].bits(Ty::U32);
        let up = (bits >> 16 & 1) + 0x7fff;
        let rounded = ((bits + up) & 0xffff_0000).replaced(x[0].is_nan(), 0x7fc0_0000);
        vec![rounded.bits(Ty::F32)]
    })
}

/// An `f32` next to an `f64`: itself, or the neighbour whose last bit is set, so that a second rounding is right.
pub fn odd_f32() -> Function {
    function("odd_f32", &[Ty::F64], |x| {
        let near = x[0].cast(Ty::F32);
        let back = near.cast(Ty::F64);
        let far = near.number(0.0).bits(Ty::U32).replaced(back.abs().gt(x[0].abs()), 1);
        let odd = (near.bits(Ty::U32) - far) | 1;
        let exact = back.eq(x[0]) | x[0].is_nan();
        vec![odd.bits(Ty::F32).replaced(exact, near)]
    })
}

/// The `f32` nearest to a 64-bit number, given its high and its low word.
pub fn nearest_f32() -> Function {
    function("nearest_f32", &[Ty::U32, Ty::U32], |x| {
        let (start, rest, lost) = normalized(x[0], x[1]);
        let tie = rest.eq(0x80) & !lost;
        let even = (start & 1).eq(0);
        let up = (rest.gt(0x80) | rest.eq(0x80)) & !(tie & even);
        vec![(start + start.number(0).replaced(up, 1)).bits(Ty::F32)]
    })
}

/// The same, but where the number is not an `f32` the neighbour below with its last bit set.
pub fn odd_f32_of_words() -> Function {
    function("odd_f32_of_words", &[Ty::U32, Ty::U32], |x| {
        let (start, rest, lost) = normalized(x[0], x[1]);
        let odd = lost | rest.ne(0);
        vec![(start | start.number(0).replaced(odd, 1)).bits(Ty::F32)]
    })
}

/// The bits of the `f32` not above a 64-bit number, the next 8 bits behind it, and whether any bit behind these is set.
fn normalized<'a>(high: E<'a>, low: E<'a>) -> (E<'a>, E<'a>, E<'a>) {
    let none = high.eq(0);
    let shift = high.replaced(none, low).op1(Operator::LeadingZeros);
    let first = high.replaced(none, low);
    let second = low.replaced(none, 0);
    // A number of no bits has a shift of 32, which is one of 0: it stays 0.
    let by = shift & 31;
    let top = (first << by) | ((second >> 1) >> (31 - by));
    let bottom = second << by;
    let exponent = (158 + 32 - shift).replaced(none, 158 - shift);
    let start = (exponent << 23) + ((top >> 8) & 0x7f_ffff);
    let zero = none & low.eq(0);
    (start.replaced(zero, 0), top & 0xff, bottom.ne(0))
}

fn pack(x: E<'_>) -> E<'_> {
    let bits = x.bits(Ty::U32);
    let size = bits & 0x7fff_ffff;
    let moved = size - 0x3800_0000;
    let normal = (moved + ((moved >> 13 & 1) + 0xfff)) >> 13;
    // Subnormal halves count 2^-24.
    let exponent = size >> 23;
    let shift = (126 - exponent).op2(Operator::Min, 26);
    let mantissa = (size & 0x7f_ffff) | 0x80_0000;
    let whole = mantissa >> shift;
    let half = x.bits(Ty::U32).number(1) << (shift - 1);
    let rest = mantissa & ((half << 1) - 1);
    let up = rest.gt(half) | (rest.eq(half) & (whole & 1).ne(0));
    let subnormal = whole + whole.number(0).replaced(up, 1);
    let found = normal.replaced(size.lt(0x3880_0000), subnormal);
    let found = found.replaced(size.ge(0x477f_f000), 0x7c00);
    // A NaN keeps the bits that fit, so that bits of halves survive being numbers.
    let payload = size >> 13 & 0x3ff;
    let nan = payload.replaced(payload.eq(0), 0x200) | 0x7c00;
    let found = found.replaced(size.gt(0x7f80_0000), nan);
    found | (bits >> 16 & 0x8000)
}

fn unpack(word: E<'_>) -> E<'_> {
    let exponent = word >> 10 & 31;
    let mantissa = word & 0x3ff;
    let normal = ((exponent + 112) << 23) | (mantissa << 13);
    let small = (mantissa.cast(Ty::U16).cast(Ty::F32) * (1.0 / 16_777_216.0)).bits(Ty::U32);
    let large = (mantissa << 13) | 0x7f80_0000;
    let found = normal.replaced(exponent.eq(0), small).replaced(exponent.eq(31), large);
    (found | ((word & 0x8000) << 16)).bits(Ty::F32)
}
