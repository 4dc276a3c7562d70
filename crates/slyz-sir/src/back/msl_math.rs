//! Mathematics on `f32` that Metal lacks, as functions that a file carries where something calls them.

use super::clike::Helpers;
use crate::ops::Operator;

/// Adds the function for an operator, and gives its name.
pub(super) fn function(operator: Operator, helpers: &mut Helpers) -> String {
    let name = format!("{}_f32", operator.name());
    let text = match operator {
        Operator::Cbrt => format!(
            "inline float {name}(float x) {{
    if (x == 0.0f || !isfinite(x)) return x;
    float a = fabs(x), y = exp2(log2(a) / 3.0f);
    y = y - (y - a / (y * y)) / 3.0f;
    y = y - (y - a / (y * y)) / 3.0f;
    return x < 0.0f ? -y : y;
}}
"
        ),
        // Below, the series: the difference cancels there.
        Operator::Expm1 => format!(
            "inline float {name}(float x) {{
    if (fabs(x) >= 0.5f) return exp(x) - 1.0f;
    float p = fma(x, 1.9841270e-4f, 1.3888889e-3f);
    p = fma(p, x, 8.3333333e-3f);
    p = fma(p, x, 4.1666667e-2f);
    p = fma(p, x, 0.16666667f);
    p = fma(p, x, 0.5f);
    return fma(p * x, x, x);
}}
"
        ),
        // What rounding took from 1 + x is put back by the quotient.
        Operator::Ln1p => format!(
            "inline float {name}(float x) {{
    float u = 1.0f + x;
    if (u == 1.0f) return x;
    return u > 0.0f && isfinite(u) ? log(u) * (x / (u - 1.0f)) : log(u);
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
    return sqrt(fma(a, a, b * b)) / scale;
}}
"
        ),
        Operator::Powi => format!(
            "inline float {name}(float x, int n) {{
    float r = 1.0f;
    for (uint left = n < 0 ? -(uint)n : (uint)n; left != 0; left >>= 1) {{
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
    p = fma(p, z, 0.0049874275f);
    p = fma(p, z, -0.0267630108f);
    p = fma(p, z, 0.112817317f);
    p = fma(p, z, -0.376124889f);
    p = fma(p, z, 0.128379151f);
    q = fma(q, t, 0.000322802982f);
    q = fma(q, t, -0.00364246615f);
    q = fma(q, t, 0.0237620994f);
    q = fma(q, t, -0.106236942f);
    q = fma(q, t, -0.635151267f);
    q = fma(q, t, -0.128648505f);
    float y = a < 0.925f ? fma(p, a, a) : 1.0f - exp(fma(q, t, -t));
    return copysign(y, x);
}}
"
        ),
        _ => format!("#error {name}\n"),
    };
    helpers.add(&name, || text)
}
