// Arithmetic of both float types that is the same bits on every machine.
FN vf32 fma_f32(vf32 a, vf32 b, vf32 c) {
#if !HAS_FMA
    // The product is exact in f64. Rounding the sum to odd keeps the second rounding from being fooled by the first.
    vf64 p = __builtin_convertvector(a, vf64) * __builtin_convertvector(b, vf64), z = __builtin_convertvector(c, vf64);
    vf64 s = p + z, t = s - p, lost = (p - (s - t)) + (z - t);
    vi64 bits = (vi64)s, more = (vi64)(lost > 0.0), less = (vi64)(lost < 0.0), below = (vi64)(s < 0.0);
    vi64 away = (more & ~below) | (less & below), even = (vi64)((bits & 1) == 0) & (more | less);
    return __builtin_convertvector((vf64)(bits + (even & ((away & 1) | ~away))), vf32);
#elif HAS(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif AVX512 && W == 16 && KNOWS(__builtin_ia32_vfmaddps512_mask)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif defined __FMA__ && W == 8 && KNOWS(__builtin_ia32_vfmaddps256)
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined __FMA__ && W == 4 && KNOWS(__builtin_ia32_vfmaddps)
    return __builtin_ia32_vfmaddps(a, b, c);
#else
    vf32 y;
    EACH(i) y[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return y;
#endif
}

FN vf64 fma_f64(vf64 a, vf64 b, vf64 c) {
#if HAS_FMA && HAS(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif AVX512 && W == 8 && KNOWS(__builtin_ia32_vfmaddpd512_mask)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
#elif defined __FMA__ && W == 4 && KNOWS(__builtin_ia32_vfmaddpd256)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif defined __FMA__ && W == 2 && KNOWS(__builtin_ia32_vfmaddpd)
    return __builtin_ia32_vfmaddpd(a, b, c);
#else
    vf64 y;
    EACH(i) y[i] = s_fma_f64(a[i], b[i], c[i]);
    return y;
#endif
}

// a * b + c where it does not matter whether it rounds once or twice.
//: T = f32, f64
FN v$T mla_$T(v$T a, v$T b, v$T c) {
#if HAS_FMA
    return fma_$T(a, b, c);
#else
    return a * b + c;
#endif
}

// The machine's own scaling by powers of two.
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_scalefps512_mask)
# define SCALE_F32(p, n) __builtin_ia32_scalefps512_mask(p, __builtin_convertvector(n, vf32), p, -1, 4)
#endif
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_scalefpd512_mask)
# define SCALE_F64(p, n) __builtin_ia32_scalefpd512_mask(p, __builtin_convertvector(n, vf64), p, -1, 4)
#endif

//: T B REST = f32 i32 0x7fffffff, f64 i64 0x7fffffffffffffff
FN v$T abs_$T(v$T x) { return (v$T)((v$B)x & $REST); }

//: T B REST = f32 i32 0x7fffffff, f64 i64 0x7fffffffffffffff
FN v$T copysign_$T(v$T size, v$T sign) { return (v$T)(((v$B)size & $REST) | ((v$B)sign & ~$REST)); }

//: T = f32, f64
FN v$T neg_$T(v$T x) { return -x; }

//: T = f32, f64
FN vi32 is_nan_$T(v$T x) { return ne_$T(x, x); }

//: T INF = f32 __builtin_inff(), f64 __builtin_inf()
FN vi32 is_finite_$T(v$T x) { return lt_$T(abs_$T(x), all_$T($INF)); }

// A NaN loses; of two zeros the second is taken.
//: O S = min <, max >
FN vf32 $O_f32(vf32 a, vf32 b) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_$Ops512_mask)
    // The machine takes the second where either is a NaN: leave out lanes where that is the NaN.
    return __builtin_ia32_$Ops512_mask(a, b, a, __builtin_ia32_cmpps512_mask(b, b, 7, -1, 4), 4);
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_$Ops256)
    return select_f32(b != b, a, __builtin_ia32_$Ops256(a, b));
#else
    return select_f32((a $S b) | (b != b), a, b);
#endif
}

// a < b ? a : b and a > b ? a : b: where one is a NaN the second is taken, as machines do.
//: O S M = lesser < min, greater > max
FN vf32 $O_f32(vf32 a, vf32 b) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_$Mps512_mask)
    return __builtin_ia32_$Mps512_mask(a, b, b, -1, 4);
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_$Mps256)
    return __builtin_ia32_$Mps256(a, b);
#elif defined __SSE2__ && W == 4 && KNOWS(__builtin_ia32_$Mps)
    return __builtin_ia32_$Mps(a, b);
#else
    return select_f32(a $S b, a, b);
#endif
}

//: O S M = lesser < min, greater > max
FN vf64 $O_f64(vf64 a, vf64 b) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_$Mpd512_mask)
    return __builtin_ia32_$Mpd512_mask(a, b, b, -1, 4);
#elif defined __AVX__ && W == 4 && KNOWS(__builtin_ia32_$Mpd256)
    return __builtin_ia32_$Mpd256(a, b);
#elif defined __SSE2__ && W == 2 && KNOWS(__builtin_ia32_$Mpd)
    return __builtin_ia32_$Mpd(a, b);
#else
    return pick_f64((vi64)(a $S b), a, b);
#endif
}

// a / d for one d. With its reciprocal and two steps of Newton's method that is what a division gives, to the last bit, as
// long as nothing is near the ends of the range; a division takes several times as long.
FN vf32 div_all_f32(vf32 a, f32 d) {
#if HAS_FMA
    f32 r = 1.0f / d, size = __builtin_fabsf(d);
    vf32 y = all_f32(-d);
    vf32 q = a * r;
    q = fma_f32(fma_f32(q, y, a), all_f32(r), q);
    q = fma_f32(fma_f32(q, y, a), all_f32(r), q);
    // Exponents of a and of q in the middle of the range.
    vu32 middle = ((vu32)a << 1) - 0x40000000u;
    if (__builtin_expect(!(size > 0x1p-30f && size < 0x1p30f) || any((vi32)(middle >= 0x80000000u)), 0)) return a / d;
    return q;
#else
    return a / d;
#endif
}

//: O S = min <, max >
FN vf64 $O_f64(vf64 a, vf64 b) { return pick_f64((vi64)(a $S b) | (vi64)(b != b), a, b); }

//: T = f32, f64
FN v$T clamp_$T(v$T x, v$T low, v$T high) { return min_$T(max_$T(x, low), high); }

FN vf32 sign_f32(vf32 x) { return select_f32((x > 0.0f) | (x < 0.0f), copysign_f32(all_f32(1.0f), x), x); }

FN vf64 sign_f64(vf64 x) { return pick_f64((vi64)(x > 0.0) | (vi64)(x < 0.0), copysign_f64(all_f64(1.0), x), x); }

//: T = f32, f64
FN v$T recip_$T(v$T x) { return 1 / x; }

FN vf32 sqrt_f32(vf32 x) {
#if HAS(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(x);
#elif AVX512 && W == 16 && !defined __clang__
    return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_sqrtps256)
    return __builtin_ia32_sqrtps256(x);
#elif defined __SSE2__ && W == 4 && KNOWS(__builtin_ia32_sqrtps)
    return __builtin_ia32_sqrtps(x);
#else
    vf32 y;
    EACH(i) y[i] = __builtin_sqrtf(x[i]);
    return y;
#endif
}

FN vf64 sqrt_f64(vf64 x) {
#if HAS(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(x);
#elif AVX512 && W == 8 && !defined __clang__
    return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4);
#elif defined __AVX__ && W == 4 && KNOWS(__builtin_ia32_sqrtpd256)
    return __builtin_ia32_sqrtpd256(x);
#elif defined __SSE2__ && W == 2 && KNOWS(__builtin_ia32_sqrtpd)
    return __builtin_ia32_sqrtpd(x);
#else
    vf64 y;
    EACH(i) y[i] = __builtin_sqrt(x[i]);
    return y;
#endif
}

// The machine's estimate and one step of Newton's method: half the time of a root and a division, and the one function
// whose last bits differ between machines. The estimate is right already where it is 0, infinite or NaN.
FN vf32 rsqrt_f32(vf32 x) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_vfmaddps512_mask3)
    vf32 y = __builtin_ia32_rsqrt14ps512_mask(x, x, -1);
    vf32 error = fma_f32(x * y, -y, all_f32(1.0f));
    // In those lanes the error is a NaN: they keep the estimate.
    u16 known = __builtin_ia32_cmpps512_mask(error, error, 7, -1, 4);
    return __builtin_ia32_vfmaddps512_mask3(error * 0.5f, y, y, known, 4);
#else
    return 1 / sqrt_f32(x);
#endif
}

// The machine's rounding to whole numbers, where it has one: mode 9 is down, 10 up, 11 toward zero.
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_rndscaleps_mask)
# define WHOLE_F32(x, mode) __builtin_ia32_rndscaleps_mask(x, mode, x, -1, 4)
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_roundps256)
# define WHOLE_F32(x, mode) __builtin_ia32_roundps256(x, mode)
#elif defined __SSE4_1__ && W == 4 && KNOWS(__builtin_ia32_roundps)
# define WHOLE_F32(x, mode) __builtin_ia32_roundps(x, mode)
#endif
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_rndscalepd_mask)
# define WHOLE_F64(x, mode) __builtin_ia32_rndscalepd_mask(x, mode, x, -1, 4)
#elif defined __AVX__ && W == 4 && KNOWS(__builtin_ia32_roundpd256)
# define WHOLE_F64(x, mode) __builtin_ia32_roundpd256(x, mode)
#elif defined __SSE4_1__ && W == 2 && KNOWS(__builtin_ia32_roundpd)
# define WHOLE_F64(x, mode) __builtin_ia32_roundpd(x, mode)
#endif

// Adding 2^23 rounds away the fraction of what is smaller; the rest has none.
//: T V BIG = f32 F32 0x1p23f, f64 F64 0x1p52
FN v$T trunc_$T(v$T x) {
#ifdef WHOLE_$V
    return WHOLE_$V(x, 11);
#else
    v$T size = abs_$T(x), whole = (size + $BIG) - $BIG;
    whole -= select_$T(gt_$T(whole, size), all_$T(1), all_$T(0));
    return select_$T(lt_$T(size, all_$T($BIG)), copysign_$T(whole, x), x);
#endif
}

//: T V = f32 F32, f64 F64
FN v$T floor_$T(v$T x) {
#ifdef WHOLE_$V
    return WHOLE_$V(x, 9);
#else
    v$T t = trunc_$T(x);
    return copysign_$T(t - select_$T(gt_$T(t, x), all_$T(1), all_$T(0)), x);
#endif
}

//: T V = f32 F32, f64 F64
FN v$T ceil_$T(v$T x) {
#ifdef WHOLE_$V
    return WHOLE_$V(x, 10);
#else
    v$T t = trunc_$T(x);
    return copysign_$T(t + select_$T(lt_$T(t, x), all_$T(1), all_$T(0)), x);
#endif
}

// Ties away from zero.
//: T = f32, f64
FN v$T round_$T(v$T x) {
    v$T t = trunc_$T(x);
    vi32 away = ge_$T(abs_$T(x - t), all_$T(0.5));
    return copysign_$T(t + select_$T(away, copysign_$T(all_$T(1), x), all_$T(0)), x);
}

//: T = f32, f64
RARE void rem_lanes_$T($T *r, const $T *x, const $T *y) {
    for (int i = 0; i < W; i++) r[i] = s_rem_$T(x[i], y[i]);
}

// The remainder is exact: where the quotient is small it is one fused step and perhaps a correction, and where it is
// large the lanes are divided one by one.
//: T END = f32 0x1p22f, f64 0x1p51
FN v$T rem_$T(v$T x, v$T y) {
    v$T a = abs_$T(x), b = abs_$T(y), q = trunc_$T(a / b), r = fma_$T(-q, b, a);
    r = select_$T(lt_$T(r, all_$T(0)), r + b, r);
    r = select_$T(ge_$T(r, b), r - b, r);
    r = select_$T(lt_$T(a, b), a, r);
    vi32 far = ~lt_$T(q, all_$T($END)) & ~lt_$T(a, b);
    if (__builtin_expect(any(far), 0)) {
        $T rs[W], xs[W], ys[W];
        __builtin_memcpy(xs, &a, sizeof xs);
        __builtin_memcpy(ys, &b, sizeof ys);
        rem_lanes_$T(rs, xs, ys);
        __builtin_memcpy(&r, rs, sizeof r);
    }
    return copysign_$T(r, x);
}
