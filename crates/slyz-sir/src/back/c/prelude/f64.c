// Mathematics in f64. Masks inside a function have 64-bit lanes. 64-bit integers are only added, shifted and masked:
// the older machines have no more. Rational approximations of asin, atan and erf are those of fdlibm
// (Sun Microsystems, 1993, freely granted).

// 2^n for -1022 <= n <= 1023.
FN vf64 power_of_two_f64(vi64 n) { return (vf64)((n + 1023) << 52); }

// p * 2^n for p near 1. Results below the normal range are rounded as integers: subnormal arithmetic is slow.
FN vf64 scale_f64(vf64 p, vi64 n) {
    vi64 y = (vi64)p + (n << 52), far = (n < -1021) | (n > 1021);
    if (__builtin_expect(any(narrow_mask(far)), 0)) {
        vf64 units = p * power_of_two_f64(n + 1074) + 0x1p52;
        y = pick_i64(y < 0x0010000000000000, (vi64)units - 0x4330000000000000, y);
        y = pick_i64(n > 1021, (vi64)(p * power_of_two_f64(n - 1) * 2.0), y);
        y = pick_i64((vi64)(p != p), (vi64)p, y);
    }
    return (vf64)y;
}

// x = n ln 2 + r, for |x| < 2^20. A NaN is kept in r.
FN vf64 split_exp_f64(vf64 x, vi64 *n) {
    vf64 t = mla_f64(x, all_f64(0x1.71547652b82fep+0), all_f64(0x1.8p52)), j = t - 0x1.8p52;
    *n = (vi64)t - 0x4338000000000000;
    vf64 r = fma_f64(j, all_f64(-0x1.62e42fefa39efp-1), x);
    return fma_f64(j, all_f64(-0x1.abc9e3b39803fp-56), r);
}

// e^r for |r| <= ln(2) / 2.
FN vf64 exp_near_0_f64(vf64 r) {
    vf64 p = all_f64(0x1.adc725f7e6c79p-26);
    p = horner_f64(p, r, 0x1.28ac682f33757p-22);
    p = horner_f64(p, r, 0x1.71deec600e1fap-19);
    p = horner_f64(p, r, 0x1.a0199b1e6f358p-16);
    p = horner_f64(p, r, 0x1.a01a014b3d231p-13);
    p = horner_f64(p, r, 0x1.6c16c183d7246p-10);
    p = horner_f64(p, r, 0x1.111111111f99dp-7);
    p = horner_f64(p, r, 0x1.5555555550906p-5);
    p = horner_f64(p, r, 0x1.5555555555528p-3);
    p = horner_f64(p, r, 0x1.000000000000ap-1);
    p = horner_f64(p, r, 1.0);
    return horner_f64(p, r, 1.0);
}

// e^x 2^k.
FN vf64 exp_scaled_f64(vf64 x, i64 k) {
    x = pick_f64((vi64)(x > 710.5), all_f64(710.5), x);
    x = pick_f64((vi64)(x < -746.0), all_f64(-746.0), x);
    vi64 n;
    vf64 r = split_exp_f64(x, &n);
    return scale_f64(exp_near_0_f64(r), n + k);
}

FN vf64 exp_f64(vf64 x) { return exp_scaled_f64(x, 0); }

// 2^(x + low) for a small second word.
FN vf64 exp2_words_f64(vf64 x, vf64 low) {
    x = pick_f64((vi64)(x > 1025.0), all_f64(1025.0), x);
    x = pick_f64((vi64)(x < -1076.0), all_f64(-1076.0), x);
    vf64 t = x + 0x1.8p52, part = x - (t - 0x1.8p52), ln2 = all_f64(0x1.62e42fefa39efp-1);
    vf64 r = part * ln2;
    vf64 rest = fma_f64(part, ln2, -r) + mla_f64(part, all_f64(0x1.abc9e3b39803fp-56), low * ln2);
    vf64 p = exp_near_0_f64(r);
    return scale_f64(mla_f64(p, rest, p), (vi64)t - 0x4338000000000000);
}

FN vf64 exp2_f64(vf64 x) { return exp2_words_f64(x, all_f64(0.0)); }

FN vf64 expm1_f64(vf64 x) {
    vf64 near = pick_f64((vi64)(x > 710.0), all_f64(710.0), x);
    near = pick_f64((vi64)(near < -40.0), all_f64(-40.0), near);
    vi64 n;
    vf64 r = split_exp_f64(near, &n);
    vf64 p = all_f64(0x1.1f444721d4a38p-29);
    p = horner_f64(p, r, 0x1.af5cf3b43fcd2p-26);
    p = horner_f64(p, r, 0x1.27e4f1c325dacp-22);
    p = horner_f64(p, r, 0x1.71ddf938bd722p-19);
    p = horner_f64(p, r, 0x1.a01a01a12c9efp-16);
    p = horner_f64(p, r, 0x1.a01a01afa106bp-13);
    p = horner_f64(p, r, 0x1.6c16c16c161d8p-10);
    p = horner_f64(p, r, 0x1.111111110f6f6p-7);
    p = horner_f64(p, r, 0x1.5555555555559p-5);
    p = horner_f64(p, r, 0x1.5555555555559p-3);
    p = horner_f64(p, r, 0.5);
    vf64 q = mla_f64(p, r * r, r);
    vf64 half = power_of_two_f64(n - 1); // finite where 2^n is not
    vf64 y = 2.0 * fma_f64(half, q, half - 0.5);
    return pick_f64(n == 0, pick_f64((vi64)(x == 0.0), x, q), y);
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0.
FN vf64 split_ln_f64(vf64 x, vf64 *k) {
    vi64 tiny = (vi64)(x < 0x1p-1022);
    vu64 bits = (vu64)pick_f64(tiny, x * 0x1p54, x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    vf64 whole = (vf64)((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    *k = whole - (vf64)(tiny & (vi64)all_f64(54.0));
    return (vf64)((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
}

// ln(1 + f) + low for 1 + f in [sqrt(1/2), sqrt(2)): with s = f / (2 + f) it is f - f^2/2 + s (f^2/2 + P(s^2)).
FN vf64 ln_near_1_f64(vf64 f, vf64 low) {
    vf64 s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    vf64 p = all_f64(0x1.2f043f898ecd7p-3);
    p = horner_f64(p, z, 0x1.39a1dcb3b6b56p-3);
    p = horner_f64(p, z, 0x1.74663d583dcf2p-3);
    p = horner_f64(p, z, 0x1.c71c52129417cp-3);
    p = horner_f64(p, z, 0x1.24924941e303fp-2);
    p = horner_f64(p, z, 0x1.999999997ff06p-2);
    p = horner_f64(p, z, 0x1.5555555555592p-1);
    return f - (h - mla_f64(s, h + p * z, low));
}

// The logarithm y of x, mended where x is 0, negative, infinite or NaN.
FN vf64 ln_corners_f64(vf64 x, vf64 y) {
    y = pick_f64((vi64)(x < __builtin_inf()), y, x);
    y = pick_f64((vi64)(x == 0.0), all_f64(-__builtin_inf()), y);
    return pick_f64((vi64)(x < 0.0), all_f64(__builtin_nan("")), y);
}

// The logarithm of 2 has few bits in its first word, so that its product with k is exact.
FN vf64 ln_f64(vf64 x) {
    vf64 k, f = split_ln_f64(x, &k), y = ln_near_1_f64(f, k * 0x1.a39ef35793c76p-33);
    return ln_corners_f64(x, mla_f64(k, all_f64(0x1.62e42feep-1), y));
}

FN vf64 log2_f64(vf64 x) {
    vf64 k, f = split_ln_f64(x, &k), y = ln_near_1_f64(f, all_f64(0.0)), log2e = all_f64(0x1.71547652b82fep+0);
    vf64 h = y * log2e, low = mla_f64(y, all_f64(0x1.777d0ffda0d24p-56), fma_f64(y, log2e, -h));
    vf64 sum = k + h;
    return ln_corners_f64(x, sum + ((h - (sum - k)) + low));
}

FN vf64 log10_f64(vf64 x) {
    vf64 k, f = split_ln_f64(x, &k), y = ln_near_1_f64(f, all_f64(0.0)), log10e = all_f64(0x1.bcb7b1526e50ep-2);
    vf64 h = y * log10e, low = mla_f64(y, all_f64(0x1.95355baaafad3p-57), fma_f64(y, log10e, -h));
    vf64 high = k * 0x1.34413509f4p-2, sum = high + h;
    low = mla_f64(k, all_f64(0x1.cff7988f8959bp-41), (h - (sum - high)) + low);
    return ln_corners_f64(x, sum + low);
}

FN vf64 ln_1p_f64(vf64 x) {
    vf64 u = x + 1.0;
    vi64 e = ((vi64)u - 0x3fe6a09e667f3bcd) & ~0xfffffffffffff;
    vf64 s = 0.25 * (vf64)(0x4010000000000000 - e);    // 2^-k, exact for k = 1023 and 1024 too
    vf64 f = fma_f64(x, s, s - 1.0);                   // (1 + x) 2^-k - 1, rounded once
    vu64 raised = (vu64)e + (0x3ffull << 52);
    vf64 k = (vf64)((raised >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    vf64 y = mla_f64(k, all_f64(0x1.62e42feep-1), ln_near_1_f64(f, k * 0x1.a39ef35793c76p-33));
    y = pick_f64((vi64)(x == 0.0), x, y);
    y = pick_f64((vi64)(x < __builtin_inf()), y, x);
    y = pick_f64((vi64)(x == -1.0), all_f64(-__builtin_inf()), y);
    return pick_f64((vi64)(x < -1.0), all_f64(__builtin_nan("")), y);
}

// log2 x in two words, about 2^-66 off, for x > 0: ln(1 + f) = 2 atanh(s), s = f / (2 + f).
FN vf64 log2_words_f64(vf64 x, vf64 *low) {
    vf64 k, f = split_ln_f64(x, &k);
    vf64 d = f + 2.0, dl = f - (d - 2.0), r = 1.0 / d;
    vf64 s = f * r, sl = r * fma_f64(-s, dl, fma_f64(-s, d, f));
    vf64 z = s * s, zl = fma_f64(s, s, -z) + 2.0 * s * sl;
    vf64 q = all_f64(0x1.eac8b3652c59bp-5);
    q = horner_f64(q, z, 0x1.de3d1bd98dff9p-5);
    q = horner_f64(q, z, 0x1.112071155d48fp-4);
    q = horner_f64(q, z, 0x1.3b1364be1dfbfp-4);
    q = horner_f64(q, z, 0x1.745d1829796bcp-4);
    q = horner_f64(q, z, 0x1.c71c71c596595p-4);
    q = horner_f64(q, z, 0x1.2492492492f52p-3);
    q = horner_f64(q, z, 0x1.9999999999996p-3);
    q = z * q;
    vf64 third = all_f64(0x1.5555555555555p-2);
    vf64 a = third + q, al = (third - a) + q + 0x1.5555555555555p-56;
    vf64 b = a * z, bl = fma_f64(a, z, -b) + mla_f64(a, zl, al * z);
    vf64 g = fma_f64(s, b, s), gl = fma_f64(s, b, s - g) + mla_f64(s, bl, mla_f64(sl, b, sl));
    vf64 two = all_f64(0x1.71547652b82fep+1), h = g * two;  // 2 log2 e
    vf64 hl = fma_f64(g, two, -h) + mla_f64(g, all_f64(0x1.777d0ffda0d24p-55), gl * two);
    vf64 y = k + h;
    *low = (h - (y - k)) + hl;
    return y;
}

// x^y for x >= 0.
FN vf64 pow_positive_f64(vf64 x, vf64 y) {
    vf64 hl, h = log2_words_f64(x, &hl);
    vf64 e = y * h, el = mla_f64(y, hl, fma_f64(y, h, -e));
    el = pick_f64((vi64)(abs_f64(e) < 2000.0), el, all_f64(0.0));
    vf64 r = exp2_words_f64(e, el);
    vf64 zero = all_f64(0.0), inf = all_f64(__builtin_inf());
    vi64 below = (vi64)(y < 0.0);
    r = pick_f64((vi64)(x == 0.0), pick_f64(below, inf, zero), r);
    return pick_f64((vi64)(x == __builtin_inf()), pick_f64(below, zero, inf), r);
}

FN vf64 pow_f64(vf64 x, vf64 y) {
    vf64 ax = abs_f64(x), ay = abs_f64(y);
    vf64 near = pick_f64((vi64)(ay > 0x1p70), copysign_f64(all_f64(0x1p70), y), y);
    vf64 r = pow_positive_f64(ax, near);
    vi64 whole = (vi64)(trunc_f64(y) == y), odd = whole & (vi64)(trunc_f64(0.5 * y) != 0.5 * y);
    r = (vf64)((vi64)r | (odd & (vi64)x & ~0x7fffffffffffffff));
    r = pick_f64((vi64)(x < 0.0) & ~whole & (vi64)(ax < __builtin_inf()), all_f64(__builtin_nan("")), r);
    r = pick_f64((vi64)(x != x) | (vi64)(y != y), x + y, r);
    vi64 one = (vi64)(x == 1.0) | (vi64)(y == 0.0) | ((vi64)(x == -1.0) & (vi64)(ay == __builtin_inf()));
    return pick_f64(one, all_f64(1.0), r);
}

// By squaring, until no lane has bits of its exponent left.
FN vf64 powi_f64(vf64 x, vi32 n) {
    vf64 r = all_f64(1.0);
    vu32 left = (vu32)select_i32(n < 0, -n, n);
    for (; any((vi32)(left != 0)); left >>= 1, x *= x) r = select_f64((vi32)((left & 1) != 0), r * x, r);
    return select_f64(n < 0, 1.0 / r, r);
}

// Far from 1 the operands are scaled, so that the squares stay in range.
FN vf64 hypot_f64(vf64 x, vf64 y) {
    vf64 a = abs_f64(x), b = abs_f64(y), m = pick_f64((vi64)(a > b), a, b);
    vi64 large = (vi64)(m > 0x1p500), small = (vi64)(m < 0x1p-450);
    vf64 s = pick_f64(large, all_f64(0x1p-600), pick_f64(small, all_f64(0x1p600), all_f64(1.0)));
    vf64 back = pick_f64(large, all_f64(0x1p600), pick_f64(small, all_f64(0x1p-600), all_f64(1.0)));
    a *= s;
    b *= s;
    vf64 r = sqrt_f64(mla_f64(a, a, b * b)) * back;
    vi64 endless = (vi64)(a == __builtin_inf()) | (vi64)(b == __builtin_inf());
    return pick_f64(endless, all_f64(__builtin_inf()), r);
}

FN vf64 cbrt_f64(vf64 x) {
    vf64 a = abs_f64(x);
    vi64 tiny = (vi64)(a < 0x1p-1022);
    vu64 bits = (vu64)pick_f64(tiny, a * 0x1p54, a), e = bits >> 52, third = (e * 43691) >> 17;
    vf64 m = (vf64)((bits & 0xfffffffffffff) | ((e - 3 * third + 1023) << 52));   // [1, 8)
    vf64 y = all_f64(0x1.32dba6p-11);                                             // m^(-1/3) to 7 bits
    y = horner_f64(y, m, -0x1.a98a42p-7);
    y = horner_f64(y, m, 0x1.bc6d96p-4);
    y = horner_f64(y, m, -0x1.c368d0p-2);
    y = horner_f64(y, m, 0x1.56735ap+0);
    y = y * mla_f64(y * y * y, m * (-1.0 / 3), all_f64(4.0 / 3));
    y = y * mla_f64(y * y * y, m * (-1.0 / 3), all_f64(4.0 / 3));
    y = y * mla_f64(y * y * y, m * (-1.0 / 3), all_f64(4.0 / 3));
    vf64 z = y * y, r = m * z;
    r = mla_f64(fma_f64(-r * r, r, m), z * (1.0 / 3), r);                         // r - (r^3 - m) / (3 r^2)
    r = r * power_of_two_f64((vi64)third - 341 - (tiny & 18));
    r = pick_f64((vi64)(a == 0.0) | ~(vi64)(a < __builtin_inf()), a, r);
    return copysign_f64(r, x);
}

// The bits of 2/pi.
static const u64 TWO_OVER_PI_F64[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// 64 bits of 2/pi from a position, which may be up to 64 before the first.
FN u64 two_over_pi_bits(int at) {
    int k = (at + 64) >> 6, b = at & 63;
    u64 high = k > 0 ? TWO_OVER_PI_F64[k - 1] : 0, low = TWO_OVER_PI_F64[k];
    return b ? (high << b) | (low >> (64 - b)) : high;
}

// x modulo pi/2 for |x| > 2^20, in exact integer arithmetic (Payne and Hanek): with x = m 2^e, the quadrant and the
// rest are 4 times the fraction of m (2^(e-2) 2/pi), of which 128 bits are kept.
FN f64 reduce_large_f64(f64 x, i64 *quadrant) {
    u64 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) & 0x7ff;
    *quadrant = 0;
    if (exponent == 0x7ff) return x - x;
    u64 m = (bits & 0xfffffffffffff) | 0x10000000000000;
    int at = exponent - 1075 - 2;
    u128 low = (u128)m * two_over_pi_bits(at + 128);
    u128 middle = (u128)m * two_over_pi_bits(at + 64) + (u64)(low >> 64);
    u64 high = m * two_over_pi_bits(at) + (u64)(middle >> 64);
    u64 n = (high + (1ull << 61)) >> 62;
    u128 rest = ((u128)(high - (n << 62)) << 64) | (u64)middle;
    int below = (i64)(rest >> 64) < 0;
    if (below) rest = -rest;
    int zeros = rest >> 64 ? __builtin_clzll((u64)(rest >> 64)) : 64 + __builtin_clzll((u64)rest | 1);
    rest <<= zeros;
    // Two words of 52 and 63 bits, times pi/2 in two words.
    f64 a = (f64)(i64)(rest >> 76) * 0x1p-52, al = (f64)(i64)((rest >> 13) & 0x7fffffffffffffff) * 0x1p-115;
    f64 r = a * 0x1.921fb54442d18p+0, rl = s_fma_f64(a, 0x1.921fb54442d18p+0, -r);
    r += rl + (a * 0x1.1a62633145c07p-54 + al * 0x1.921fb54442d18p+0);
    u64 scale = (u64)(1023 + 2 - zeros) << 52;
    f64 power;
    __builtin_memcpy(&power, &scale, sizeof power);
    r *= power;
    *quadrant = (i64)(bits >> 63 ? 0ull - n : n);
    return below != (int)(bits >> 63) ? -r : r;
}

RARE void reduce_lanes_f64(f64 *r, i64 *q, const f64 *x) {
    for (int i = 0; i < W; i++)
        if (__builtin_fabs(x[i]) > 0x1p20) r[i] = reduce_large_f64(x[i], &q[i]);
}

// x = q pi/2 + r with |r| <= pi/4. The words of pi/2 have one sign, which keeps -0.
FN vf64 reduce_f64(vf64 x, vi64 *q) {
    vf64 t = mla_f64(x, all_f64(0x1.45f306dc9c883p-1), all_f64(0x1.8p52)), j = t - 0x1.8p52;
    vf64 r = fma_f64(j, all_f64(-0x1.921fb54442d18p+0), x);
    r = fma_f64(j, all_f64(-0x1.1a62633145c06p-54), r);
    r = fma_f64(j, all_f64(-0x1.c1cd129024e09p-107), r);
    *q = (vi64)t;
    vi32 large = narrow_mask((vi64)(abs_f64(x) > 0x1p20));
    if (__builtin_expect(any(large), 0)) {
        f64 rs[W], xs[W];
        i64 qs[W];
        __builtin_memcpy(rs, &r, sizeof rs);
        __builtin_memcpy(qs, q, sizeof qs);
        __builtin_memcpy(xs, &x, sizeof xs);
        reduce_lanes_f64(rs, qs, xs);
        __builtin_memcpy(&r, rs, sizeof r);
        __builtin_memcpy(q, qs, sizeof qs);
    }
    return r;
}

FN vf64 sin_near_0_f64(vf64 r) {
    vf64 z = r * r;
    vf64 s = all_f64(0x1.5d8b5591c15bcp-33);
    s = horner_f64(s, z, -0x1.ae5e4b83e796fp-26);
    s = horner_f64(s, z, 0x1.71de35552b694p-19);
    s = horner_f64(s, z, -0x1.a01a019be9219p-13);
    s = horner_f64(s, z, 0x1.111111110f730p-7);
    s = horner_f64(s, z, -0x1.5555555555548p-3);
    return mla_f64(mla_f64(s, z, all_f64(0.0)), r, r); // + 0 keeps sin(-0) = -0
}

FN vf64 cos_near_0_f64(vf64 r) {
    vf64 z = r * r;
    vf64 c = all_f64(-0x1.8fa66d0e657cap-37);
    c = horner_f64(c, z, 0x1.1ee9dba822240p-29);
    c = horner_f64(c, z, -0x1.27e4f7f1631b8p-22);
    c = horner_f64(c, z, 0x1.a01a019c8ef72p-16);
    c = horner_f64(c, z, -0x1.6c16c16c15014p-10);
    c = horner_f64(c, z, 0x1.555555555554bp-5);
    c = horner_f64(c, z, -0.5);
    return horner_f64(c, z, 1.0);
}

// sin(r + q pi/2) for |r| <= pi/4.
FN vf64 sin_quadrant_f64(vf64 r, vi64 q) {
    vf64 y = pick_f64((q & 1) != 0, cos_near_0_f64(r), sin_near_0_f64(r));
    return (vf64)((vi64)y ^ ((q & 2) << 62));
}

FN vf64 sin_f64(vf64 x) {
    vi64 q;
    vf64 r = reduce_f64(x, &q);
    return sin_quadrant_f64(r, q);
}

FN vf64 cos_f64(vf64 x) {
    vi64 q;
    vf64 r = reduce_f64(x, &q);
    return sin_quadrant_f64(r, q + 1);
}

FN vf64 tan_f64(vf64 x) {
    vi64 q;
    vf64 r = reduce_f64(x, &q), s = sin_near_0_f64(r), c = cos_near_0_f64(r);
    vi64 turned = (q & 1) != 0;
    return pick_f64(turned, -c, s) / pick_f64(turned, s, c);
}

// (asin(z) - z) / z for |z| <= 1/2, given s = z^2.
FN vf64 asin_near_0_f64(vf64 s) {
    vf64 p = all_f64(3.47933107596021167570e-05);
    p = horner_f64(p, s, 7.91534994289814532176e-04);
    p = horner_f64(p, s, -4.00555345006794114027e-02);
    p = horner_f64(p, s, 2.01212532134862925881e-01);
    p = horner_f64(p, s, -3.25565818622400915405e-01);
    p = horner_f64(p, s, 1.66666666666666657415e-01);
    vf64 q = all_f64(7.70381505559019352791e-02);
    q = horner_f64(q, s, -6.88283971605453293030e-01);
    q = horner_f64(q, s, 2.02094576023350569471e+00);
    q = horner_f64(q, s, -2.40339491173441421878e+00);
    q = horner_f64(q, s, 1.0);
    return s * p / q;
}

FN vf64 asin_f64(vf64 x) {
    vf64 a = abs_f64(x), h = mla_f64(a, all_f64(-0.5), all_f64(0.5));
    vi64 far = (vi64)(a > 0.5);
    vf64 z = pick_f64(far, sqrt_f64(h), a), p = asin_near_0_f64(pick_f64(far, h, a * a));
    vf64 r = mla_f64(z, p, z);
    vf64 y = 0x1.921fb54442d18p+0 - mla_f64(all_f64(2.0), r, all_f64(-0x1.1a62633145c07p-54));
    return copysign_f64(pick_f64(far, y, r), x);
}

FN vf64 acos_f64(vf64 x) {
    vf64 a = abs_f64(x), h = mla_f64(a, all_f64(-0.5), all_f64(0.5));
    vi64 far = (vi64)(a > 0.5);
    vf64 z = pick_f64(far, sqrt_f64(h), a), p = asin_near_0_f64(pick_f64(far, h, a * a));
    vf64 r = mla_f64(z, p, z);
    vf64 near = 0x1.921fb54442d18p+0 - (copysign_f64(r, x) - 0x1.1a62633145c07p-54);
    vf64 below = 0x1.921fb54442d18p+1 - mla_f64(all_f64(2.0), r, all_f64(-0x1.1a62633145c07p-53));
    vf64 y = pick_f64(far, pick_f64((vi64)(x < 0.0), below, 2.0 * r), near);
    return pick_f64((vi64)(x != x), x, y);
}

// atan(y / x) for y, x >= 0, not both zero or infinite. One division, of (y - x) / (y + x) and pi/4 more in the
// middle, of -x / y and pi/2 more above.
FN vf64 atan_ratio_f64(vf64 y, vf64 x) {
    vi64 above = (vi64)(y > 2.4375 * x), below = (vi64)(y < 0.4375 * x), middle = ~(above | below);
    vf64 z = pick_f64(above, -x, pick_f64(below, y, y - x)) / pick_f64(above, y, pick_f64(below, x, y + x));
    vf64 s = z * z;
    vf64 p = all_f64(1.62858201153657823623e-02);
    p = horner_f64(p, s, -3.65315727442169155270e-02);
    p = horner_f64(p, s, 4.97687799461593236017e-02);
    p = horner_f64(p, s, -5.83357013379057348645e-02);
    p = horner_f64(p, s, 6.66107313738753120669e-02);
    p = horner_f64(p, s, -7.69187620504482999495e-02);
    p = horner_f64(p, s, 9.09088713343650656196e-02);
    p = horner_f64(p, s, -1.11111104054623557880e-01);
    p = horner_f64(p, s, 1.42857142725034663711e-01);
    p = horner_f64(p, s, -1.99999999998764832476e-01);
    p = horner_f64(p, s, 3.33333333333329318027e-01);
    vi64 high = (above & (vi64)all_f64(0x1.921fb54442d18p+0)) | (middle & (vi64)all_f64(0x1.921fb54442d18p-1));
    vi64 low = (above & (vi64)all_f64(0x1.1a62633145c07p-54)) | (middle & (vi64)all_f64(0x1.1a62633145c07p-55));
    return (vf64)high - ((z * s * p - (vf64)low) - z);
}

FN vf64 atan_f64(vf64 x) { return copysign_f64(atan_ratio_f64(abs_f64(x), all_f64(1.0)), x); }

FN vf64 atan2_f64(vf64 y, vf64 x) {
    vf64 ay = abs_f64(y), ax = abs_f64(x), m = pick_f64((vi64)(ay > ax), ay, ax);
    vi64 large = (vi64)(m > 0x1p1000), small = (vi64)(m < 0x1p-900);
    vf64 s = pick_f64(large, all_f64(0x1p-100), pick_f64(small, all_f64(0x1p120), all_f64(1.0)));
    vi64 both = (vi64)(ax == ay); // 0/0 is 0 here and inf/inf is 1
    vf64 one = all_f64(1.0), zero = all_f64(0.0);
    vf64 num = pick_f64(both, pick_f64((vi64)(ay == 0.0), zero, one), ay * s), den = pick_f64(both, one, ax * s);
    vf64 r = atan_ratio_f64(num, den);
    r = pick_f64((vi64)x < 0, 0x1.921fb54442d18p+1 - (r - 0x1.1a62633145c07p-53), r);
    return copysign_f64(pick_f64((vi64)(x != x) | (vi64)(y != y), x + y, r), y);
}

FN vf64 sinh_f64(vf64 x) {
    vf64 a = abs_f64(x), t = expm1_f64(a), d = t + 1.0;
    vf64 near = 0.5 * pick_f64((vi64)(a < 1.0), 2.0 * t - t * t / d, t + t / d);
    return copysign_f64(pick_f64((vi64)(a < 22.0), near, exp_scaled_f64(a, -1)), x);
}

FN vf64 cosh_f64(vf64 x) {
    vf64 e = exp_scaled_f64(abs_f64(x), -1);
    return e + 0.25 / e;
}

FN vf64 tanh_f64(vf64 x) {
    vf64 a = abs_f64(x), t = expm1_f64(2.0 * pick_f64((vi64)(a > 22.0), all_f64(22.0), a));
    return copysign_f64(t / (t + 2.0), x);
}

// erf(x) for |x| < 0.84375, as fdlibm.
FN vf64 erf_near_0_f64(vf64 x) {
    vf64 z = x * x;
    vf64 p = all_f64(-2.37630166566501626084e-05);
    p = horner_f64(p, z, -5.77027029648944159157e-03);
    p = horner_f64(p, z, -2.84817495755985104766e-02);
    p = horner_f64(p, z, -3.25042107247001499370e-01);
    p = horner_f64(p, z, 1.28379167095512558561e-01);
    vf64 q = all_f64(-3.96022827877536812320e-06);
    q = horner_f64(q, z, 1.32494738004321644526e-04);
    q = horner_f64(q, z, 5.08130628187576562776e-03);
    q = horner_f64(q, z, 6.50222499887672944485e-02);
    q = horner_f64(q, z, 3.97917223959155352819e-01);
    q = horner_f64(q, z, 1.0);
    return mla_f64(x, p / q, x);
}

// erf(a) for 0.84375 <= a < 1.25.
FN vf64 erf_near_1_f64(vf64 a) {
    vf64 s = a - 1.0;
    vf64 p = all_f64(-2.16637559486879084300e-03);
    p = horner_f64(p, s, 3.54783043256182359371e-02);
    p = horner_f64(p, s, -1.10894694282396677476e-01);
    p = horner_f64(p, s, 3.18346619901161753674e-01);
    p = horner_f64(p, s, -3.72207876035701323847e-01);
    p = horner_f64(p, s, 4.14856118683748331666e-01);
    p = horner_f64(p, s, -2.36211856075265944077e-03);
    vf64 q = all_f64(1.19844998467991074170e-02);
    q = horner_f64(q, s, 1.36370839120290507362e-02);
    q = horner_f64(q, s, 1.26171219808761642112e-01);
    q = horner_f64(q, s, 7.18286544141962662868e-02);
    q = horner_f64(q, s, 5.40397917702171048937e-01);
    q = horner_f64(q, s, 1.06420880400844228286e-01);
    q = horner_f64(q, s, 1.0);
    return 8.45062911510467529297e-01 + p / q;
}

// One coefficient of two polynomials, in one step.
FN vf64 horner_either_f64(vf64 p, vf64 x, vi64 m, f64 a, f64 b) {
    return mla_f64(p, x, pick_f64(m, all_f64(a), all_f64(b)));
}

// erf(a) for a >= 1.25: two ranges that part at 1/0.35.
FN vf64 erf_far_f64(vf64 a) {
    a = pick_f64((vi64)(a > 6.0), all_f64(6.0), a);
    vi64 m = (vi64)(a < 2.857142857142857);
    vf64 s = 1.0 / (a * a);
    vf64 p = pick_f64(m, all_f64(-9.81432934416914548592e+00), all_f64(0.0));
    p = horner_either_f64(p, s, m, -8.12874355063065934246e+01, -4.83519191608651397019e+02);
    p = horner_either_f64(p, s, m, -1.84605092906711035994e+02, -1.02509513161107724954e+03);
    p = horner_either_f64(p, s, m, -1.62396669462573470355e+02, -6.37566443368389627722e+02);
    p = horner_either_f64(p, s, m, -6.23753324503260060396e+01, -1.60636384855821916062e+02);
    p = horner_either_f64(p, s, m, -1.05586262253232909814e+01, -1.77579549177547519889e+01);
    p = horner_either_f64(p, s, m, -6.93858572707181764372e-01, -7.99283237680523006574e-01);
    p = horner_either_f64(p, s, m, -9.86494403484714822705e-03, -9.86494292470009928597e-03);
    vf64 q = pick_f64(m, all_f64(-6.04244152148580987438e-02), all_f64(0.0));
    q = horner_either_f64(q, s, m, 6.57024977031928170135e+00, -2.24409524465858183362e+01);
    q = horner_either_f64(q, s, m, 1.08635005541779435134e+02, 4.74528541206955367215e+02);
    q = horner_either_f64(q, s, m, 4.29008140027567833386e+02, 2.55305040643316442583e+03);
    q = horner_either_f64(q, s, m, 6.45387271733267880336e+02, 3.19985821950859553908e+03);
    q = horner_either_f64(q, s, m, 4.34565877475229228821e+02, 1.53672958608443695994e+03);
    q = horner_either_f64(q, s, m, 1.37657754143519042600e+02, 3.25792512996573918826e+02);
    q = horner_either_f64(q, s, m, 1.96512716674392571292e+01, 3.03380607434824582924e+01);
    q = horner_f64(q, s, 1.0);
    return 1.0 - exp_f64(p / q - 0.5625 - a * a) / a;
}

FN vf64 erf_f64(vf64 x) {
    vf64 a = abs_f64(x), y = erf_near_0_f64(a);
    vi64 middle = ~(vi64)(a < 0.84375), far = ~(vi64)(a < 1.25);
    if (any(narrow_mask(middle))) y = pick_f64(middle, erf_near_1_f64(a), y);
    if (any(narrow_mask(far))) y = pick_f64(far, erf_far_f64(a), y);
    return copysign_f64(y, x);
}
