//! Exact arithmetic: rounding to whole numbers, remainders, and products that are added before they are rounded.

use super::sheet::{E, function, repeat};
use super::{Expansion, Table};
use crate::code::Function;
use crate::ops::Operator;
use crate::types::Ty;

/// The operators that are expanded here.
pub(super) const TABLE: Table = &[(Operator::Rem, Expansion::Binary(rem)), (Operator::Round, Expansion::Unary(round))];

/// The nearest whole number, ties away from zero.
pub(super) fn round(x: E<'_>) -> E<'_> {
    let whole = x.op1(Operator::Trunc);
    let up = (x - whole).abs().ge(0.5);
    let next = whole + x.op1(Operator::Sign);
    // Large numbers and infinities have no fraction; their difference may be a NaN, which is not above a half.
    whole.replaced(up, next)
}

/// The remainder with the sign of the dividend, by long division of the mantissas.
pub(super) fn rem<'a>(x: E<'a>, y: E<'a>) -> E<'a> {
    let xs = x.size();
    let ys = y.size();
    let layout = x.layout();
    let undefined = xs.ge(layout.infinity) | ys.gt(layout.infinity) | ys.eq(0);
    let small = xs.lt(ys);
    let nan = x.number(f64::NAN);
    let results = (undefined | small).branch(
        || vec![x.replaced(undefined, nan)],
        || {
            let ((mx, ex), (my, ey)) = (split(xs), split(ys));
            // As many bits of the quotient at once as there are free above a mantissa.
            let step = |state: &[E<'a>]| {
                let by = (state[1] - ey).op2(Operator::Min, layout.spare());
                vec![(state[0] << by.word()).op2(Operator::Rem, my), state[1] - by]
            };
            let rest = repeat(&[mx.op2(Operator::Rem, my), ex], |state| state[1].gt(ey), step)[0];
            let shift = (rest | 1).op1(Operator::LeadingZeros);
            let exponent = ey - (shift.signed() - layout.spare());
            let bits = nearest(rest << shift, exponent).replaced(rest.eq(0), 0);
            vec![(bits | (x.word() & !layout.size)).float()]
        },
    );
    results[0]
}

/// The bits of the number nearest to `top` 2^(`exponent` - bias), where the highest bit of `top` is 1 and its lowest stands for
/// whatever is below.
pub(super) fn nearest<'a>(top: E<'a>, exponent: E<'a>) -> E<'a> {
    let layout = top.layout();
    let tail = |n: E<'a>| (top & ((top.number(1) << n) - 1)).ne(0);
    // Subnormal numbers lose more bits.
    let shift = (1 - exponent).op2(Operator::Max, 0).op2(Operator::Min, layout.width - 1).word();
    let kept = (top >> shift) | top.number(0).replaced(tail(shift), 1);
    let half = 1 << (layout.spare() - 1);
    let rest = kept & ((1 << layout.spare()) - 1);
    let mantissa = kept >> layout.spare();
    let up = rest.gt(half) | (rest.eq(half) & (mantissa & 1).ne(0));
    let mantissa = mantissa + mantissa.number(0).replaced(up, 1);
    // The leading one of the mantissa, where it has one, adds 1 to the exponent.
    let below = (exponent.op2(Operator::Max, 1) - 1).word() << layout.mantissa;
    (below + mantissa).replaced(exponent.gt(2 * layout.bias), layout.infinity)
}

/// A mantissa with its leading one and the exponent that belongs to it, from the bits of a positive number.
pub(super) fn split(bits: E<'_>) -> (E<'_>, E<'_>) {
    let layout = bits.layout();
    let exponent = bits >> layout.mantissa;
    let fraction = bits & layout.fraction;
    let shift = (fraction | 1).op1(Operator::LeadingZeros) - layout.spare();
    let tiny = exponent.eq(0);
    let mantissa = (fraction | layout.normal()).replaced(tiny, fraction << shift);
    let exponent = exponent.signed().replaced(tiny, 1 - shift.signed());
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
        let more = lost.gt(0.0);
        let less = lost.lt(0.0);
        let below = s.lt(0.0);
        let away = (more & !below) | (less & below);
        let even = (bits & 1).eq(0) & (more | less);
        let by = bits.number(0).replaced(even, bits.number(-1).replaced(away, 1));
        let odd = (bits + by).bits(Ty::F64);
        vec![s.replaced(even, odd).cast(Ty::F32)]
    })
}

/// `a * b + c` with one rounding, in the type itself: the sum of three words, the lower two rounded to odd. Near overflow and
/// near the subnormal numbers it is computed in integers. `f64` needs 64-bit integers.
pub fn fma_by_words(ty: Ty) -> Function {
    function(&format!("fma_{ty}"), &[ty; 3], |x| {
        let (a, b, c) = (x[0], x[1], x[2]);
        let product = a * b;
        let size = product.abs();
        let (factor, most, least) = a.either((1e30, 1e37, 1e-30), (1e290, 1e300, 1e-250));
        let tame = a.abs().lt(factor) & b.abs().lt(factor) & size.lt(most) & size.gt(least) & c.abs().lt(most);
        let factors = a.is_finite() & b.is_finite();
        let hard = !tame & factors & c.is_finite() & a.size().ne(0) & b.size().ne(0);
        // A product may overflow that is added to an infinity.
        let plain = (product + c).replaced(factors & !c.is_finite(), c);
        hard.branch(|| vec![fma_of_mantissas(a, b, c)], || vec![plain.replaced(tame, fma_of_words(a, b, c))])
    })
}

fn fma_of_words<'a>(a: E<'a>, b: E<'a>, c: E<'a>) -> E<'a> {
    let (high, low) = product(a, b);
    let (th, tl) = sum(c, low);
    let (vh, vl) = sum(high, th);
    let (z, lost) = sum(tl, vl);
    let bits = z.signed();
    let inexact = lost.ne(0.0);
    let away = (lost.gt(0.0) & z.gt(0.0)) | (lost.lt(0.0) & z.lt(0.0));
    let by = bits.number(-1).replaced(away, 1);
    vh + z.replaced(inexact & (bits & 1).eq(0), (bits + by).float())
}

/// `a * b + c` of finite numbers, the product not 0, in integers of two words.
fn fma_of_mantissas<'a>(a: E<'a>, b: E<'a>, c: E<'a>) -> E<'a> {
    let layout = a.layout();
    let spare = layout.spare();
    let width = layout.width;
    let [(ma, ea), (mb, eb), (mc, ec)] = [a, b, c].map(|x| split(x.size()));
    // Both with the leading one in the second bit from above, or in the third, so that the sum has room.
    let (ph, pl) = wide_product(ma << spare, mb << spare);
    let (ph, pl) = (ph >> 1, (pl >> 1) | (ph << (width - 1)));
    let ep = ea + eb - (layout.bias - 1);
    let ch = mc << (spare - 1);
    let cl = mc.number(0);
    let ec = ec.replaced(mc.eq(0), -4 * layout.bias);
    let [product_sign, c_sign] = [a.word() ^ b.word(), c.word()].map(|bits| bits & !layout.size);
    // The one with the smaller exponent is moved down and negated if the signs differ.
    let first = ep.gt(ec);
    let either = |product: E<'a>, c: E<'a>| (c.replaced(first, product), product.replaced(first, c));
    let ((xh, yh), (xl, yl), (exponent, least)) = (either(ph, ch), either(pl, cl), either(ep, ec));
    let (yh, yl) = moved_down(yh, yl, (exponent - least).op2(Operator::Min, 2 * width - 1).word());
    let differ = product_sign.ne(c_sign);
    let (nh, nl) = minus(yh, yl);
    let yh = yh.replaced(differ, nh);
    let yl = yl.replaced(differ, nl);
    let low = xl + yl;
    let high = xh + yh + low.number(0).replaced(low.lt(xl), 1);
    let turned = differ & high.signed().lt(0);
    let (nh, nl) = minus(high, low);
    let high = high.replaced(turned, nh);
    let low = low.replaced(turned, nl);
    let sign = c_sign.replaced(first, product_sign) ^ high.number(0).replaced(turned, !layout.size);
    // The leading one goes to the first bit.
    let none = high.eq(0);
    let top = high.replaced(none, low);
    let next = low.replaced(none, 0);
    let by = (top | 1).op1(Operator::LeadingZeros);
    let lost = (next << by).ne(0);
    let top = (top << by) | ((next >> 1) >> ((width - 1) - by));
    let exponent = exponent + 1 - by.replaced(none, by + width).signed();
    let bits = nearest(top | top.number(0).replaced(lost, 1), exponent);
    (bits | sign).replaced(high.eq(0) & low.eq(0), 0).float()
}

/// A number of two words moved down; the lowest bit of the result stands for all that were lost.
fn moved_down<'a>(high: E<'a>, low: E<'a>, by: E<'a>) -> (E<'a>, E<'a>) {
    let width = high.layout().width;
    let word = by.ge(width);
    let gone = word & low.ne(0);
    let (high, low, by) = (high.replaced(word, 0), low.replaced(word, high), by & (width - 1));
    let gone = gone | (low & ((low.number(1) << by) - 1)).ne(0);
    let low = (low >> by) | ((high << 1) << ((width - 1) - by));
    (high >> by, low | low.number(0).replaced(gone, 1))
}

/// The negative of a number of two words.
fn minus<'a>(high: E<'a>, low: E<'a>) -> (E<'a>, E<'a>) {
    (!high + high.number(0).replaced(low.eq(0), 1), 0 - low)
}

/// The product of two words as a high and a low word.
pub(super) fn wide_product<'a>(a: E<'a>, b: E<'a>) -> (E<'a>, E<'a>) {
    let (half, mask) = a.either((16, 0xffff), (32, 0xffff_ffff));
    let ah = a >> half;
    let al = a & mask;
    let bh = b >> half;
    let bl = b & mask;
    let low = al * bl;
    let left = ah * bl;
    let right = al * bh;
    let middle = (low >> half) + (left & mask) + (right & mask);
    (ah * bh + (left >> half) + (right >> half) + (middle >> half), a * b)
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
        // To the nearest number of half as many bits: what is left then has a bit less than the other half.
        let (unit, half) = x.either((0x1000, 0x800), (0x800_0000, 0x400_0000));
        let top = ((x.signed() + half) & -unit).float();
        (top, x - top)
    };
    let p = a * b;
    let ((ah, al), (bh, bl)) = (half(a), half(b));
    (p, al * bl - (((p - ah * bh) - al * bh) - ah * bl))
}
