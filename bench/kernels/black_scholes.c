/* Black-Scholes call prices. Units: options; W divides what a task gets. */
#include "lanes.h"

INLINE vf normcdf(vf x) {
    vf l = (vf)((vi)x & 0x7fffffff);
    vf k = 1.0f / fma_(l, splat(0.2316419f), splat(1.0f));
    vf q = splat(1.330274429f);
    q = fma_(q, k, splat(-1.821255978f));
    q = fma_(q, k, splat(1.781477937f));
    q = fma_(q, k, splat(-0.356563782f));
    q = fma_(q, k, splat(0.319381530f));
    vf w = 0.39894228f * exp_(-0.5f * l * l) * q * k;
    return select(x < 0.0f, w, 1.0f - w);
}

INLINE vf price(vf spot, vf strike, vf years, f32 r, f32 v) {
    vf q = v * sqrt_(years);
    vf d1 = fma_(splat(r + 0.5f * v * v), years, log_(spot / strike)) / q;
    return spot * normcdf(d1) - strike * exp_(-r * years) * normcdf(d1 - q);
}

KERNEL(black_scholes) {
    NOT_USED(n);
    OUT(f32, z, 0);
    IN(f32, spot, 0);
    IN(f32, strike, 1);
    IN(f32, years, 2);
    for (i64 i = lo; i < hi; i += W) store(z + i, price(load(spot + i), load(strike + i), load(years + i), s[0], s[1]));
}

KERNEL(black_scholes_nt) {
    NOT_USED(n);
    OUT(f32, z, 0);
    IN(f32, spot, 0);
    IN(f32, strike, 1);
    IN(f32, years, 2);
    for (i64 i = lo; i < hi; i += W) stream(z + i, price(load(spot + i), load(strike + i), load(years + i), s[0], s[1]));
    fence();
}
