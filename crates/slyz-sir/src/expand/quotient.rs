//! Quotients and square roots with one rounding, in `f32`, for a target whose own are near only but whose `fma` rounds once.
//!
//! The target's estimate is improved by Newton steps with exact remainders, as long as no remainder can leave the range of
//! normal numbers; that is the usual case and takes a few instructions. Everything else divides the mantissas, and
//! rounds in integers.
//!
//! Inside these functions `div`, `recip`, `rsqrt` and `sqrt` stand for the target's own.

use super::sheet::{E, function};
use super::whole::{nearest, split};
use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;

/// 2^-60 and 2^60: operands between them have quotients and remainders that are normal.
const SMALL: f64 = 1.0 / LARGE;
const LARGE: f64 = (1u64 << 60) as f64;

/// `a / b`.
pub fn exact_quotient() -> Function {
    function("div_f32", &[Ty::F32, Ty::F32], |x| {
        let (a, b) = (x[0], x[1]);
        let usual = is_usual(a) & is_usual(b);
        usual.branch(|| vec![near_quotient(a, b)], || vec![by_mantissas(a, b)])
    })
}

/// `1 / b`.
pub fn exact_reciprocal() -> Function {
    function("recip_f32", &[Ty::F32], |x| {
        let b = x[0];
        is_usual(b).branch(
            || {
                let y = near_reciprocal(b);
                vec![(-b).fma(y, 1.0).fma(y, y)]
            },
            || vec![by_mantissas(b.number(1.0), b)],
        )
    })
}

/// The square root of `x`.
pub fn exact_root() -> Function {
    function("sqrt_f32", &[Ty::F32], |x| {
        let x = x[0];
        is_usual(x).branch(
            || vec![near_root(x)],
            || {
                // Roots are never subnormal: an even power of two moves the operand to where remainders are normal.
                let tiny = x.lt(SMALL);
                let up = x.number(SMALL).replaced(tiny, LARGE * LARGE);
                let down = x.number(1_073_741_824.0).replaced(tiny, SMALL);
                let root = near_root(x * up) * down;
                let ordinary = x.gt(0.0) & x.is_finite();
                vec![x.sqrt().replaced(ordinary, root)]
            },
        )
    })
}

/// A positive or negative number of ordinary size. Nothing else is above and below a number.
fn is_usual(x: E<'_>) -> E<'_> {
    x.abs().gt(SMALL) & x.abs().lt(LARGE)
}

/// 1 / `b`, about half a unit off.
fn near_reciprocal(b: E<'_>) -> E<'_> {
    let y = b.op1(Operator::Recip);
    (-b).fma(y, 1.0).fma(y, y)
}

/// `a / b` for operands of ordinary size: a quotient that is a unit off becomes the nearest one by what it leaves.
fn near_quotient<'a>(a: E<'a>, b: E<'a>) -> E<'a> {
    let y = near_reciprocal(b);
    let q = a * y;
    let q = (-b).fma(q, a).fma(y, q);
    (-b).fma(q, a).fma(y, q)
}

/// The root and half its reciprocal are improved together, then the root by what is left.
fn near_root(x: E<'_>) -> E<'_> {
    let y = x.op1(Operator::Rsqrt);
    let g = x * y;
    let h = y * 0.5;
    let e = (-h).fma(g, 0.5);
    let g = g.fma(e, g);
    let h = h.fma(e, h);
    (-g).fma(g, x).fma(h, g)
}

/// The quotient of the mantissas, which are of ordinary size, and the sign of what is left say enough to round once wherever the
/// result ends up. Zeros, infinities and NaNs are the target's.
fn by_mantissas<'a>(a: E<'a>, b: E<'a>) -> E<'a> {
    let sa = a.size();
    let sb = b.size();
    let layout = a.layout();
    let special = sa.eq(0) | sb.eq(0) | sa.ge(layout.infinity) | sb.ge(layout.infinity);
    let quotient = special.branch(
        || vec![a / b],
        || {
            let ((ma, ea), (mb, eb)) = (split(sa), split(sb));
            // From 1 up to 2: the leading one of a mantissa is the last bit of the exponent of 1.
            let one = (layout.bias - 1) << layout.mantissa;
            let ma = (ma + one).float();
            let mb = (mb + one).float();
            let q = near_quotient(ma, mb);
            let rest = (-mb).fma(q, ma);
            let bits = q.word();
            let exponent = ea - eb + (bits >> layout.mantissa).signed();
            let top = ((bits & layout.fraction) | layout.normal()) << layout.spare();
            let above = rest.gt(0.0);
            let below = rest.lt(0.0);
            let top = (top | top.number(0).replaced(above, 1)) - top.number(0).replaced(below, 1);
            // Below a power of two is the top of the numbers with the exponent before.
            let slipped = top.signed().ge(0);
            let top = top.replaced(slipped, -1);
            let exponent = exponent.replaced(slipped, exponent - 1);
            let sign = (a.word() ^ b.word()) & !layout.size;
            vec![(nearest(top, exponent) | sign).float()]
        },
    );
    quotient[0]
}
