//! Small functions that a file carries where a plain spelling of an operator would mean something else.
//!
//! Each is written once per file, before what uses it, and only when something does. The meanings are those of the
//! operator table; what is plain in every C-like language is not here.

use crate::ops::Operator;
use crate::types::{Ty, int_range};

/// The functions of a file, in the order they must stand.
#[derive(Default)]
pub struct Helpers {
    list: Vec<(String, String)>,
}

impl Helpers {
    /// Adds a function unless it is there, and gives its name.
    pub fn add(&mut self, name: &str, text: impl FnOnce() -> String) -> String {
        if !self.list.iter().any(|(known, _)| known == name) {
            let text = text();
            self.list.push((name.to_string(), text));
        }
        name.to_string()
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(_, text)| &text[..])
    }
}

/// How types and constants are spelled.
pub(super) trait Spell {
    fn ty(&self, ty: Ty) -> &'static str;
    fn int(&self, ty: Ty, value: i128) -> String;
    fn function(&self, operator: Operator) -> Option<&'static str>;
}

/// Integer division and remainder, total.
pub(super) fn divide(s: &dyn Spell, operator: Operator, ty: Ty, helpers: &mut Helpers) -> String {
    let name = format!("{}_{ty}", operator.name());
    let t = s.ty(ty);
    let (sign, by_zero) = if operator == Operator::Div { ("/", "a".to_string()) } else { ("%", s.int(ty, 0)) };
    let zero = s.int(ty, 0);
    // The smallest number by -1 does not fit: it stays itself, and leaves nothing.
    let by_minus_one = match (operator, ty.is_signed()) {
        (_, false) => String::new(),
        (Operator::Div, true) => {
            let u = s.ty(unsigned(ty));
            format!("    if (b == {}) return ({t})(0 - ({u})a);\n", s.int(ty, -1))
        }
        (_, true) => format!("    if (b == {}) return {zero};\n", s.int(ty, -1)),
    };
    helpers.add(&name, || {
        format!(
            "inline {t} {name}({t} a, {t} b) {{\n{by_minus_one}    return b == {zero} ? {by_zero} : ({t})(a {sign} b);\n}}\n"
        )
    })
}

/// The unsigned type of that width.
pub(super) fn unsigned(ty: Ty) -> Ty {
    match ty {
        Ty::I8 => Ty::U8,
        Ty::I16 => Ty::U16,
        Ty::I32 => Ty::U32,
        Ty::I64 => Ty::U64,
        other => other,
    }
}

/// The smaller or larger: a NaN loses, and of two zeros the second wins; 64-bit integers have no function everywhere.
pub(super) fn extreme(s: &dyn Spell, operator: Operator, ty: Ty, helpers: &mut Helpers) -> String {
    let name = format!("{}_{ty}", operator.name());
    let (t, sign) = (s.ty(ty), if operator == Operator::Min { "<" } else { ">" });
    let nan = if ty.is_float() { " || isnan(b)" } else { "" };
    helpers.add(&name, || format!("inline {t} {name}({t} a, {t} b) {{ return a {sign} b{nan} ? a : b; }}\n"))
}

/// A float as an integer: saturating, 0 for NaN.
pub(super) fn to_int(s: &dyn Spell, to: Ty, helpers: &mut Helpers) -> String {
    let name = format!("to_{to}");
    let (low, high) = int_range(to);
    let t = s.ty(to);
    // The smallest number of the type is a power of two or zero, and so is the first one past it: both are exact.
    let (bottom, top) = (format!("{low}.0f"), format!("{}.0f", high + 1));
    helpers.add(&name, || {
        format!(
            "inline {t} {name}(float x) {{\n    if (isnan(x)) return 0;\n    if (x <= {bottom}) return {};\n    \
             if (x >= {top}) return {};\n    return ({t})x;\n}}\n",
            s.int(to, low),
            s.int(to, high),
        )
    })
}

pub(super) fn absolute(s: &dyn Spell, ty: Ty, helpers: &mut Helpers) -> String {
    let (t, u) = (s.ty(ty), s.ty(unsigned(ty)));
    let name = format!("abs_{ty}");
    helpers.add(&name, || format!("inline {t} {name}({t} x) {{ return x < 0 ? ({t})(0 - ({u})x) : x; }}\n"))
}

pub(super) fn sign(s: &dyn Spell, ty: Ty, helpers: &mut Helpers) -> String {
    let t = s.ty(ty);
    let name = format!("sign_{ty}");
    let (one, rest) = if ty.is_float() { ("1.0f", "x") } else { ("1", "0") };
    let below = if ty.is_signed() || ty.is_float() { format!("x < 0 ? -{one} : ") } else { String::new() };
    helpers.add(&name, || format!("inline {t} {name}({t} x) {{ return x > 0 ? {one} : {below}{rest}; }}\n"))
}

/// Bits of 64-bit integers, by halves.
pub(super) fn count_bits(s: &dyn Spell, operator: Operator, helpers: &mut Helpers) -> String {
    let (u64, u32) = (s.ty(Ty::U64), s.ty(Ty::U32));
    let name = format!("{}_u64", operator.name());
    let f = s.function(operator).unwrap_or_default();
    let halves = format!("{u32} low = ({u32})x, high = ({u32})(x >> 32);");
    let value = match operator {
        Operator::LeadingZeros => format!("high != 0 ? {f}(high) : 32 + {f}(low)"),
        Operator::TrailingZeros => format!("low != 0 ? {f}(low) : 32 + {f}(high)"),
        _ => format!("{f}(low) + {f}(high)"),
    };
    helpers.add(&name, || format!("inline {u64} {name}({u64} x) {{\n    {halves}\n    return {value};\n}}\n"))
}

/// Mathematics on `f32` that a language may lack.
pub(super) fn mathematics(s: &dyn Spell, operator: Operator, helpers: &mut Helpers) -> String {
    let name = format!("{}_f32", operator.name());
    let f = |operator| s.function(operator).unwrap_or("?");
    let (exp, log, uint) = (f(Operator::Exp), f(Operator::Ln), s.ty(Ty::U32));
    let (exp2, log2, sqrt, fma) = (f(Operator::Exp2), f(Operator::Log2), f(Operator::Sqrt), f(Operator::Fma));
    let text = match operator {
        Operator::Cbrt => format!(
            "inline float {name}(float x) {{
    if (x == 0.0f || !isfinite(x)) return x;
    float a = fabs(x), y = {exp2}({log2}(a) / 3.0f);
    y = y - (y - a / (y * y)) / 3.0f;
    y = y - (y - a / (y * y)) / 3.0f;
    return x < 0.0f ? -y : y;
}}
"
        ),
        // Below, the series: the difference cancels there.
        Operator::Expm1 => format!(
            "inline float {name}(float x) {{
    if (fabs(x) >= 0.5f) return {exp}(x) - 1.0f;
    float p = {fma}(x, 1.9841270e-4f, 1.3888889e-3f);
    p = {fma}(p, x, 8.3333333e-3f);
    p = {fma}(p, x, 4.1666667e-2f);
    p = {fma}(p, x, 0.16666667f);
    p = {fma}(p, x, 0.5f);
    return {fma}(p * x, x, x);
}}
"
        ),
        // What rounding took from 1 + x is put back by the quotient.
        Operator::Ln1p => format!(
            "inline float {name}(float x) {{
    float u = 1.0f + x;
    if (u == 1.0f) return x;
    return u > 0.0f && isfinite(u) ? {log}(u) * (x / (u - 1.0f)) : {log}(u);
}}
"
        ),
        // Scaled by powers of two, so that squares neither overflow nor vanish.
        Operator::Hypot => format!(
            "inline float {name}(float a, float b) {{
    a = fabs(a);
    b = fabs(b);
    if (isinf(a) || isinf(b)) return INFINITY;
    float m = a > b ? a : b, scale = m > 1e18f ? 8.4703295e-22f : m < 1e-18f ? 1.2676506e30f : 1.0f;
    a = a * scale;
    b = b * scale;
    return {sqrt}({fma}(a, a, b * b)) / scale;
}}
"
        ),
        Operator::Powi => format!(
            "inline float {name}(float x, int n) {{
    float r = 1.0f;
    for ({uint} left = n < 0 ? -({uint})n : ({uint})n; left != 0; left >>= 1) {{
        if ((left & 1) != 0) r *= x;
        x *= x;
    }}
    return n < 0 ? 1.0f / r : r;
}}
"
        ),
        // Near zero a polynomial in x², further out 1 - exp of one in |x|.
        Operator::Erf => format!(
            "inline float {name}(float x) {{
    float a = fabs(x), z = x * x, t = a > 4.0f ? 4.0f : a;
    float p = -0.000595998077f, q = -1.12309463e-05f;
    p = {fma}(p, z, 0.0049874275f);
    p = {fma}(p, z, -0.0267630108f);
    p = {fma}(p, z, 0.112817317f);
    p = {fma}(p, z, -0.376124889f);
    p = {fma}(p, z, 0.128379151f);
    q = {fma}(q, t, 0.000322802982f);
    q = {fma}(q, t, -0.00364246615f);
    q = {fma}(q, t, 0.0237620994f);
    q = {fma}(q, t, -0.106236942f);
    q = {fma}(q, t, -0.635151267f);
    q = {fma}(q, t, -0.128648505f);
    float y = a < 0.925f ? {fma}(p, a, a) : 1.0f - {exp}({fma}(q, t, -t));
    return copysign(y, x);
}}
"
        ),
        _ => format!("#error {name}\n"),
    };
    helpers.add(&name, || text)
}
