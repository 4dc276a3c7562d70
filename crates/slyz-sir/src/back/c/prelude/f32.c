// Mathematics in f32. Every fused multiply-add is written out, so results do not depend on the compiler or on W.

// 2^n for -126 <= n <= 127.
FN vf32 power_of_two_f32(vi32 n) { return (vf32)((n + 127) << 23); }

// p * 2^n for p near 1. Results below the normal range are rounded as integers: subnormal arithmetic is slow.
FN vf32 scale_f32(vf32 p, vi32 n) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_scalefps512_mask)
    return __builtin_ia32_scalefps512_mask(p, __builtin_convertvector(n, vf32), p, -1, 4);
#else
    vi32 y = (vi32)p + (n << 23), far = (n < -125) | (n > 125);
    if (__builtin_expect(any(far), 0)) {
        vf32 units = p * power_of_two_f32(n + 149) + 0x1p23f;
        y = select_i32(y < 0x00800000, (vi32)units - 0x4b000000, y);
        y = select_i32(n > 125, (vi32)(p * power_of_two_f32(n - 1) * 2.0f), y);
        y = select_i32(p != p, (vi32)p, y);
    }
    return (vf32)y;
#endif
}

// x, but not below lo nor above hi. A NaN stays.
FN vf32 limit_f32(vf32 x, f32 lo, f32 hi) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_maxps512_mask)
    // Where one operand is a NaN the second is taken.
    x = __builtin_ia32_minps512_mask(all_f32(hi), x, x, -1, 4);
    return __builtin_ia32_maxps512_mask(all_f32(lo), x, x, -1, 4);
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_maxps256)
    return __builtin_ia32_maxps256(all_f32(lo), __builtin_ia32_minps256(all_f32(hi), x));
#else
    x = select_f32(x > hi, all_f32(hi), x);
    return select_f32(x < lo, all_f32(lo), x);
#endif
}

// x = n ln 2 + r, for |x| < 2^15. A NaN is kept in r.
FN vf32 split_exp_f32(vf32 x, vi32 *n) {
    vf32 t = mla_f32(x, all_f32(0x1.715476p+0f), all_f32(0x1.8p23f)), j = t - 0x1.8p23f;
    *n = (vi32)t - 0x4b400000;
    vf32 r = fma_f32(j, all_f32(-0x1.62e430p-1f), x);
    return fma_f32(j, all_f32(0x1.05c610p-29f), r);
}

// e^x 2^k.
FN vf32 exp_scaled_f32(vf32 x, i32 k) {
    x = limit_f32(x, -105.0f, 89.5f);
    vi32 n;
    vf32 r = split_exp_f32(x, &n);
    vf32 p = all_f32(0x1.6a5dc8p-10f);
    p = horner_f32(p, r, 0x1.123e58p-7f);
    p = horner_f32(p, r, 0x1.5558a4p-5f);
    p = horner_f32(p, r, 0x1.55548ap-3f);
    p = horner_f32(p, r, 0x1.fffffcp-2f);
    p = horner_f32(p, r, 1.0f);
    p = horner_f32(p, r, 1.0f);
    return scale_f32(p, n + k);
}

FN vf32 exp_f32(vf32 x) { return exp_scaled_f32(x, 0); }

// 2^(x + low) for a small second word.
FN vf32 exp2_words_f32(vf32 x, vf32 low) {
    x = limit_f32(x, -151.0f, 129.0f);
    vf32 t = x + 0x1.8p23f, r = (x - (t - 0x1.8p23f)) + low;
    vf32 p = all_f32(0x1.17e778p-13f);
    p = horner_f32(p, r, 0x1.5ef52cp-10f);
    p = horner_f32(p, r, 0x1.3b67e0p-7f);
    p = horner_f32(p, r, 0x1.c6af9ep-5f);
    p = horner_f32(p, r, 0x1.ebfb94p-3f);
    p = horner_f32(p, r, 0x1.62e430p-1f);
    p = horner_f32(p, r, 1.0f);
    return scale_f32(p, (vi32)t - 0x4b400000);
}

FN vf32 exp2_f32(vf32 x) { return exp2_words_f32(x, all_f32(0.0f)); }

FN vf32 expm1_f32(vf32 x) {
    vf32 near = limit_f32(x, -20.0f, 89.0f);
    vi32 n;
    vf32 r = split_exp_f32(near, &n);
    vf32 p = all_f32(0x1.39d2d8p-13f);
    p = horner_f32(p, r, 0x1.6d2d80p-10f);
    p = horner_f32(p, r, 0x1.11563cp-7f);
    p = horner_f32(p, r, 0x1.555502p-5f);
    p = horner_f32(p, r, 0x1.55552cp-3f);
    p = horner_f32(p, r, 0.5f);
    vf32 q = mla_f32(p, r * r, r);
    vf32 half = power_of_two_f32(n - 1); // finite where 2^n is not
    vf32 y = 2.0f * fma_f32(half, q, half - 0.5f);
    return select_f32(n == 0, select_f32(x == 0.0f, x, q), y);
}

// Lanes that are not positive, normal and finite: few, so that what they need is done apart.
FN int any_odd_f32(vf32 x) { return __builtin_expect(any((vi32)((vu32)x - 0x00800000u >= 0x7f000000u)), 0); }

// x = 2^k (1 + f) with 1 + f in [2/3, 4/3), for x > 0.
FN vf32 split_ln_f32(vf32 x, vf32 *k) {
    vi32 bits = (vi32)x - 0x3f2aaaab, shift = (vi32){0};
    if (any_odd_f32(x)) {
        vi32 tiny = x < 0x1p-126f;
        bits = (vi32)select_f32(tiny, x * 0x1p25f, x) - 0x3f2aaaab;
        shift = tiny & 25;
    }
    *k = __builtin_convertvector((bits >> 23) - shift, vf32);
    return (vf32)((bits & 0x7fffff) + 0x3f2aaaab) - 1.0f;
}

// ln(1 + f) on [-1/3, 1/3].
FN vf32 ln_near_1_f32(vf32 f) {
    vf32 p = all_f32(-0x1.ff43dcp-4f);
    p = horner_f32(p, f, 0x1.1ffe40p-3f);
    p = horner_f32(p, f, -0x1.f6c204p-4f);
    p = horner_f32(p, f, 0x1.1e8128p-3f);
    p = horner_f32(p, f, -0x1.557df4p-3f);
    p = horner_f32(p, f, 0x1.99d594p-3f);
    p = horner_f32(p, f, -0x1.ffff94p-3f);
    p = horner_f32(p, f, 0x1.5554fap-2f);
    p = horner_f32(p, f, -0.5f);
    return mla_f32(p, f * f, f);
}

// The logarithm y of x, mended where x is 0, negative, infinite or NaN.
FN vf32 ln_corners_f32(vf32 x, vf32 y) {
    if (!any_odd_f32(x)) return y;
    y = select_f32(x < __builtin_inff(), y, x);
    y = select_f32(x == 0.0f, all_f32(-__builtin_inff()), y);
    return select_f32(x < 0.0f, all_f32(__builtin_nanf("")), y);
}

FN vf32 ln_f32(vf32 x) {
    vf32 k, f = split_ln_f32(x, &k);
    return ln_corners_f32(x, fma_f32(k, all_f32(0x1.62e430p-1f), ln_near_1_f32(f)));
}

FN vf32 log2_f32(vf32 x) {
    vf32 k, f = split_ln_f32(x, &k);
    vf32 p = all_f32(-0x1.690752p-3f);
    p = horner_f32(p, f, 0x1.a0a9b6p-3f);
    p = horner_f32(p, f, -0x1.6c5fccp-3f);
    p = horner_f32(p, f, 0x1.9d1fbep-3f);
    p = horner_f32(p, f, -0x1.ec8b76p-3f);
    p = horner_f32(p, f, 0x1.27a38cp-2f);
    p = horner_f32(p, f, -0x1.715492p-2f);
    p = horner_f32(p, f, 0x1.ec7014p-2f);
    p = horner_f32(p, f, -0x1.715476p-1f);
    p = horner_f32(p, f, 0x1.4ae0c0p-26f);
    return ln_corners_f32(x, k + fma_f32(f, all_f32(0x1.715476p+0f), f * p));
}

// The logarithm of 2 has few bits in its first word, so that its product with k is exact.
FN vf32 log10_f32(vf32 x) {
    vf32 k, f = split_ln_f32(x, &k), y = ln_near_1_f32(f);
    vf32 low = mla_f32(y, all_f32(-0x1.5b235ep-27f), k * 0x1.3509f8p-18f);
    vf32 high = mla_f32(y, all_f32(0x1.bcb7b2p-2f), low);
    return ln_corners_f32(x, mla_f32(k, all_f32(0x1.3440p-2f), high));
}

FN vf32 ln_1p_f32(vf32 x) {
    vf32 u = x + 1.0f;
    vi32 e = ((vi32)u - 0x3f2aaaab) & (i32)0xff800000;
    vf32 s = 0.25f * (vf32)(0x40800000 - e);           // 2^-k, exact for k = 127 and 128 too
    vf32 f = fma_f32(x, s, s - 1.0f);                  // (1 + x) 2^-k - 1, rounded once
    vf32 k = __builtin_convertvector(e >> 23, vf32);
    vf32 y = fma_f32(k, all_f32(0x1.62e430p-1f), ln_near_1_f32(f));
    y = select_f32(x == 0.0f, x, y);
    y = select_f32(x < __builtin_inff(), y, x);
    y = select_f32(x == -1.0f, all_f32(-__builtin_inff()), y);
    return select_f32(x < -1.0f, all_f32(__builtin_nanf("")), y);
}

// log2 x in two words, about 2^-32 off, for x > 0: ln(1 + f) = 2 atanh(s), s = f / (2 + f).
FN vf32 log2_words_f32(vf32 x, vf32 *low) {
    vf32 k, f = split_ln_f32(x, &k);
    vf32 d = f + 2.0f, dl = f - (d - 2.0f), r = 1.0f / d;
    vf32 s = f * r, sl = r * fma_f32(-s, dl, fma_f32(-s, d, f));
    vf32 z = s * s, zl = fma_f32(s, s, -z) + 2.0f * s * sl;
    vf32 q = all_f32(0x1.e8eac4p-4f);
    q = horner_f32(q, z, 0x1.241a34p-3f);
    q = horner_f32(q, z, 0x1.999aa0p-3f);
    q = z * q;
    vf32 third = all_f32(0x1.555556p-2f);
    vf32 a = third + q, al = (third - a) + q + -0x1.555556p-27f;
    vf32 b = a * z, bl = fma_f32(a, z, -b) + fma_f32(a, zl, al * z);
    vf32 g = fma_f32(s, b, s), gl = fma_f32(s, b, s - g) + fma_f32(s, bl, fma_f32(sl, b, sl));
    vf32 h = g * 0x1.715476p+1f;                        // 2 log2 e
    vf32 hl = fma_f32(g, all_f32(0x1.715476p+1f), -h) + fma_f32(g, all_f32(0x1.4ae0c0p-25f), gl * 0x1.715476p+1f);
    vf32 y = k + h;
    *low = (h - (y - k)) + hl;
    return y;
}

// x^y for x >= 0.
FN vf32 pow_positive_f32(vf32 x, vf32 y) {
    vf32 hl, h = log2_words_f32(x, &hl);
    vf32 e = y * h, el = fma_f32(y, h, -e) + y * hl;
    el = select_f32(abs_f32(e) < 200.0f, el, all_f32(0.0f));
    vf32 r = exp2_words_f32(e, el);
    vf32 zero = all_f32(0.0f), inf = all_f32(__builtin_inff());
    r = select_f32(x == 0.0f, select_f32(y < 0.0f, inf, zero), r);
    return select_f32(x == __builtin_inff(), select_f32(y < 0.0f, zero, inf), r);
}

FN vf32 pow_f32(vf32 x, vf32 y) {
    vf32 ax = abs_f32(x), ay = abs_f32(y);
    vf32 near = select_f32(ay > 0x1p40f, copysign_f32(all_f32(0x1p40f), y), y);
    vf32 r = pow_positive_f32(ax, near);
    vi32 whole = trunc_f32(y) == y, odd = whole & (trunc_f32(0.5f * y) != 0.5f * y);
    r = (vf32)((vi32)r | (odd & (vi32)x & (i32)0x80000000));
    r = select_f32((x < 0.0f) & ~whole & (ax < __builtin_inff()), all_f32(__builtin_nanf("")), r);
    r = select_f32((x != x) | (y != y), x + y, r);
    return select_f32((x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (ay == __builtin_inff())), all_f32(1.0f), r);
}

// By squaring, until no lane has bits of its exponent left.
FN vf32 powi_f32(vf32 x, vi32 n) {
    vf32 r = all_f32(1.0f);
    vu32 left = (vu32)select_i32(n < 0, -n, n);
    for (; any((vi32)(left != 0)); left >>= 1, x *= x) r = select_f32((vi32)((left & 1) != 0), r * x, r);
    return select_f32(n < 0, 1.0f / r, r);
}

// Far from 1 the operands are scaled, so that the squares stay in range.
FN vf32 hypot_f32(vf32 x, vf32 y) {
    vf32 a = abs_f32(x), b = abs_f32(y), m = select_f32(a > b, a, b);
    vi32 large = m > 0x1p60f, small = m < 0x1p-60f;
    vf32 s = select_f32(large, all_f32(0x1p-70f), select_f32(small, all_f32(0x1p90f), all_f32(1.0f)));
    vf32 back = select_f32(large, all_f32(0x1p70f), select_f32(small, all_f32(0x1p-90f), all_f32(1.0f)));
    a *= s;
    b *= s;
    vf32 r = sqrt_f32(mla_f32(a, a, b * b)) * back;
    return select_f32((a == __builtin_inff()) | (b == __builtin_inff()), all_f32(__builtin_inff()), r);
}

FN vf32 cbrt_f32(vf32 x) {
    vf32 a = abs_f32(x);
    vi32 tiny = a < 0x1p-126f;
    vi32 bits = (vi32)select_f32(tiny, a * 0x1p24f, a);
    vi32 e = (bits >> 23) + 2, third = (e * 43691) >> 17;
    vf32 m = (vf32)((bits & 0x7fffff) | ((e - 3 * third + 127) << 23));   // [1, 8)
    vf32 y = all_f32(0x1.32dba6p-11f);                                    // m^(-1/3) to 7 bits
    y = horner_f32(y, m, -0x1.a98a42p-7f);
    y = horner_f32(y, m, 0x1.bc6d96p-4f);
    y = horner_f32(y, m, -0x1.c368d0p-2f);
    y = horner_f32(y, m, 0x1.56735ap+0f);
    y = y * mla_f32(y * y * y, m * (-1.0f / 3), all_f32(4.0f / 3));
    y = y * mla_f32(y * y * y, m * (-1.0f / 3), all_f32(4.0f / 3));
    vf32 z = y * y, r = m * z;
    r = mla_f32(fma_f32(-r * r, r, m), z * (1.0f / 3), r);                // r - (r^3 - m) / (3 r^2)
    r = r * power_of_two_f32(third - 43 - (tiny & 8));
    r = select_f32((a == 0.0f) | ~(a < __builtin_inff()), a, r);
    return copysign_f32(r, x);
}

// 2/pi after 16 zero bits.
static const u64 TWO_OVER_PI_F32[4] = {0x0000a2f9836e4e44, 0x1529fc2757d1f534, 0xddc0db6295993c43, 0x9041fe5163abdebb};

// x modulo pi/2 for |x| > 65536, in exact integer arithmetic (Payne and Hanek): with x = m 2^e, the quadrant and the
// rest are 4 times the fraction of m (2^(e-2) 2/pi).
FN f32 reduce_large_f32(f32 x, i32 *quadrant) {
    u32 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int exponent = (bits >> 23) & 255;
    *quadrant = 0;
    if (exponent == 255) return x - x;
    u64 m = (bits & 0x7fffff) | 0x800000;
    int shift = exponent - 150 - 2 + 16, k = shift >> 6, b = shift & 63;
    const u64 *t = TWO_OVER_PI_F32 + k;
    u64 high = (t[0] << b) | (t[1] >> 1 >> (63 - b)), low = (t[1] << b) | (t[2] >> 1 >> (63 - b));
    u64 fraction = m * high + ((m * (low >> 32)) >> 32);
    u64 n = (fraction + (1ull << 61)) >> 62;
    f64 r = (f64)(i64)(fraction - (n << 62)) * 0x1.921fb54442d18p-62;
    *quadrant = (i32)(bits >> 31 ? 0u - (u32)n : (u32)n);
    return (f32)(bits >> 31 ? -r : r);
}

RARE void reduce_lanes_f32(f32 *r, i32 *q, const f32 *x) {
    for (int i = 0; i < W; i++)
        if (__builtin_fabsf(x[i]) > 65536.0f) r[i] = reduce_large_f32(x[i], &q[i]);
}

// x = q pi/2 + r with |r| <= pi/4. The words of pi/2 have one sign, which keeps -0.
FN vf32 reduce_f32(vf32 x, vi32 *q) {
    vf32 t = mla_f32(x, all_f32(0x1.45f306p-1f), all_f32(0x1.8p23f)), j = t - 0x1.8p23f;
    vf32 r = fma_f32(j, all_f32(-0x1.921fb4p+0f), x);
    r = fma_f32(j, all_f32(-0x1.4442d0p-24f), r);
    r = fma_f32(j, all_f32(-0x1.84698ap-48f), r);
    *q = (vi32)t;
    vi32 large = abs_f32(x) > 65536.0f;
    if (__builtin_expect(any(large), 0)) {
        f32 rs[W], xs[W];
        i32 qs[W];
        __builtin_memcpy(rs, &r, sizeof rs);
        __builtin_memcpy(qs, q, sizeof qs);
        __builtin_memcpy(xs, &x, sizeof xs);
        reduce_lanes_f32(rs, qs, xs);
        __builtin_memcpy(&r, rs, sizeof r);
        __builtin_memcpy(q, qs, sizeof qs);
    }
    return r;
}

// sin(r + q pi/2) for |r| <= pi/4.
FN vf32 sin_quadrant_f32(vf32 r, vi32 q) {
    vf32 z = r * r;
    vf32 s = all_f32(0x1.7c2cbcp-19f);
    s = horner_f32(s, z, -0x1.a05954p-13f);
    s = horner_f32(s, z, 0x1.111174p-7f);
    s = horner_f32(s, z, -0x1.555556p-3f);
    s = mla_f32(fma_f32(s, z, all_f32(0.0f)), r, r); // + 0 keeps sin(-0) = -0
    vf32 c = all_f32(0x1.99e874p-16f);
    c = horner_f32(c, z, -0x1.6c0c28p-10f);
    c = horner_f32(c, z, 0x1.55554ap-5f);
    c = horner_f32(c, z, -0.5f);
    c = horner_f32(c, z, 1.0f);
    vf32 y = select_f32((q & 1) != 0, c, s);
    return (vf32)((vi32)y ^ ((q & 2) << 30));
}

FN vf32 sin_f32(vf32 x) {
    vi32 q;
    vf32 r = reduce_f32(x, &q);
    return sin_quadrant_f32(r, q);
}

FN vf32 cos_f32(vf32 x) {
    vi32 q;
    vf32 r = reduce_f32(x, &q);
    return sin_quadrant_f32(r, q + 1);
}

FN vf32 tan_f32(vf32 x) {
    vi32 q;
    vf32 r = reduce_f32(x, &q), z = r * r;
    vf32 p = all_f32(0x1.1f08f4p-8f);
    p = horner_f32(p, z, 0x1.63be8cp-14f);
    p = horner_f32(p, z, 0x1.631c4cp-7f);
    p = horner_f32(p, z, 0x1.5cb30ep-6f);
    p = horner_f32(p, z, 0x1.badad8p-5f);
    p = horner_f32(p, z, 0x1.110d9ap-3f);
    p = horner_f32(p, z, 0x1.555560p-2f);
    vf32 y = mla_f32(fma_f32(p, z, all_f32(0.0f)), r, r);
    return select_f32((q & 1) != 0, -1.0f / y, y);
}

// z + z^3 P(z^2) for |z| <= 1/2, given z^2.
FN vf32 asin_near_0_f32(vf32 z, vf32 s) {
    vf32 p = all_f32(0x1.34c3fcp-5f);
    p = horner_f32(p, s, 0x1.d524b4p-7f);
    p = horner_f32(p, s, 0x1.04d2dep-5f);
    p = horner_f32(p, s, 0x1.6ca754p-5f);
    p = horner_f32(p, s, 0x1.3338acp-4f);
    p = horner_f32(p, s, 0x1.55554cp-3f);
    return mla_f32(p * s, z, z);
}

FN vf32 asin_f32(vf32 x) {
    vf32 a = abs_f32(x), h = mla_f32(a, all_f32(-0.5f), all_f32(0.5f));
    vi32 far = a > 0.5f;
    vf32 r = asin_near_0_f32(select_f32(far, sqrt_f32(h), a), select_f32(far, h, a * a));
    r = select_f32(far, mla_f32(all_f32(-2.0f), r, all_f32(0x1.921fb6p+0f)), r);
    return copysign_f32(r, x);
}

FN vf32 acos_f32(vf32 x) {
    vf32 a = abs_f32(x), h = mla_f32(a, all_f32(-0.5f), all_f32(0.5f));
    vi32 far = a > 0.5f;
    vf32 r = asin_near_0_f32(select_f32(far, sqrt_f32(h), a), select_f32(far, h, a * a));
    vf32 near = (0x1.921fb6p+0f - copysign_f32(r, x)) + -0x1.777a5cp-25f;
    vf32 y = select_f32(x < 0.0f, mla_f32(all_f32(-2.0f), r, all_f32(0x1.921fb6p+1f)), 2.0f * r);
    return select_f32(x != x, x, select_f32(far, y, near));
}

// atan z for |z| <= 1.
FN vf32 atan_near_0_f32(vf32 z) {
    vf32 s = z * z;
    vf32 p = all_f32(-0x1.d4f536p-10f);
    p = horner_f32(p, s, 0x1.64eef6p-7f);
    p = horner_f32(p, s, -0x1.fe1ea6p-6f);
    p = horner_f32(p, s, 0x1.da6baep-5f);
    p = horner_f32(p, s, -0x1.581794p-4f);
    p = horner_f32(p, s, 0x1.c08f8ap-4f);
    p = horner_f32(p, s, -0x1.2420aap-3f);
    p = horner_f32(p, s, 0x1.9991e4p-3f);
    p = horner_f32(p, s, -0x1.55553ep-2f);
    return mla_f32(p * s, z, z);
}

FN vf32 atan_f32(vf32 x) {
    vf32 a = abs_f32(x);
    vi32 far = a > 1.0f;
    vf32 r = atan_near_0_f32(select_f32(far, 1.0f / a, a));
    return copysign_f32(select_f32(far, 0x1.921fb6p+0f - r, r), x);
}

FN vf32 atan2_f32(vf32 y, vf32 x) {
    vf32 ay = abs_f32(y), ax = abs_f32(x);
    vi32 steep = ay > ax;
    vf32 small = select_f32(steep, ax, ay), large = select_f32(steep, ay, ax), z = small / large;
    z = select_f32(large == 0.0f, all_f32(0.0f), z);
    z = select_f32(small == __builtin_inff(), all_f32(1.0f), z);
    vf32 r = atan_near_0_f32(z);
    r = select_f32(steep, 0x1.921fb6p+0f - r, r);
    r = select_f32((vi32)x < 0, 0x1.921fb6p+1f - r, r);
    return copysign_f32(select_f32((x != x) | (y != y), x + y, r), y);
}

FN vf32 sinh_f32(vf32 x) {
    vf32 a = abs_f32(x), z = x * x;
    vf32 p = all_f32(0x1.756c58p-19f);
    p = horner_f32(p, z, 0x1.a022bcp-13f);
    p = horner_f32(p, z, 0x1.1110e0p-7f);
    p = horner_f32(p, z, 0x1.555556p-3f);
    vf32 near = mla_f32(p * z, a, a), e = exp_scaled_f32(a, -1);
    return copysign_f32(select_f32(a < 1.0f, near, e - 0.25f / e), x);
}

FN vf32 cosh_f32(vf32 x) {
    vf32 e = exp_scaled_f32(abs_f32(x), -1);
    return e + 0.25f / e;
}

FN vf32 tanh_f32(vf32 x) {
    vf32 a = abs_f32(x), z = x * x;
    vf32 p = all_f32(-0x1.754d08p-8f);
    p = horner_f32(p, z, 0x1.52027ep-6f);
    p = horner_f32(p, z, -0x1.b8365ap-5f);
    p = horner_f32(p, z, 0x1.1106f6p-3f);
    p = horner_f32(p, z, -0x1.555532p-2f);
    vf32 near = mla_f32(p * z, a, a), far = 1.0f - 2.0f / (exp_f32(a + a) + 1.0f);
    return copysign_f32(select_f32(a < 0.625f, near, far), x);
}

// Far from 0, the complement is exp(-t + t q(t)).
FN vf32 erf_f32(vf32 x) {
    vf32 a = abs_f32(x), z = x * x, t = select_f32(a > 4.0f, all_f32(4.0f), a);
    vf32 p = all_f32(-0x1.387982p-11f);
    p = horner_f32(p, z, 0x1.46db26p-8f);
    p = horner_f32(p, z, -0x1.b67c34p-6f);
    p = horner_f32(p, z, 0x1.ce1988p-4f);
    p = horner_f32(p, z, -0x1.8126e2p-2f);
    p = horner_f32(p, z, 0x1.06eba6p-3f);
    vf32 q = all_f32(-0x1.78d918p-17f);
    q = horner_f32(q, t, 0x1.527bc4p-12f);
    q = horner_f32(q, t, -0x1.dd6ce2p-9f);
    q = horner_f32(q, t, 0x1.855178p-6f);
    q = horner_f32(q, t, -0x1.b32582p-4f);
    q = horner_f32(q, t, -0x1.45328cp-1f);
    q = horner_f32(q, t, -0x1.0778dep-3f);
    vf32 near = mla_f32(p, a, a), far = 1.0f - exp_f32(mla_f32(q, t, -t));
    return copysign_f32(select_f32(a < 0.925f, near, far), x);
}
