/* What the hand-written kernels share: vectors of the machine's width, loads, stores, and exp and log on them.
 * No system header, no auto-vectoriser: vector extensions of GCC and Clang, which are the same on every machine.
 *
 * A kernel works on the units `lo..hi` (elements, rows, chunks or strips: its comment says which), so that the
 * caller can spread units over threads. */
typedef float f32;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;

#if defined __AVX512F__ && defined __AVX512DQ__ && defined __AVX512VL__ && defined __AVX512BW__
#define W 16
#elif defined __AVX2__ && defined __FMA__
#define W 8
#else
#define W 4
#endif

typedef f32 vf __attribute__((vector_size(4 * W)));
typedef i32 vi __attribute__((vector_size(4 * W)));

#define INLINE static inline __attribute__((always_inline, unused))
#define KERNEL(name) void name(void *const *out, const void *const *in, const i64 *n, const f32 *s, i64 lo, i64 hi)
#define OUT(type, name, k) type *restrict name = out[k]
#define IN(type, name, k) const type *restrict name = in[k]
#define NOT_USED(x) ((void)(x))

INLINE vf load(const f32 *p) { vf v; __builtin_memcpy(&v, p, sizeof v); return v; }
INLINE void store(f32 *p, vf v) { __builtin_memcpy(p, &v, sizeof v); }
INLINE vf splat(f32 x) { return x - (vf){0}; }
INLINE vi splati(i32 x) { return x - (vi){0}; }
INLINE vf select(vi m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }
INLINE vi iota(void) {
    vi v;
    for (int i = 0; i < W; i++) v[i] = i;
    return v;
}

/* Past the caches: a whole line at a time, on an aligned address. */
INLINE void stream(f32 *p, vf v) {
#if defined __clang__
    __builtin_nontemporal_store(v, (vf *)p);
#elif W == 16
    __builtin_ia32_movntps512(p, v);
#elif W == 8
    __builtin_ia32_movntps256(p, v);
#elif defined __SSE2__
    __builtin_ia32_movntps(p, v);
#else
    store(p, v);
#endif
}
INLINE void fence(void) {
#if defined __SSE2__
    __builtin_ia32_sfence();
#endif
}

INLINE vf fma_(vf a, vf b, vf c) {
#if defined __clang__
    return __builtin_elementwise_fma(a, b, c);
#elif W == 16
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif W == 8
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    return a * b + c;
#endif
}
INLINE vf sqrt_(vf x) {
#if defined __clang__
    return __builtin_elementwise_sqrt(x);
#elif W == 16
    return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif W == 8
    return __builtin_ia32_sqrtps256(x);
#else
    vf r;
    for (int i = 0; i < W; i++) r[i] = __builtin_sqrtf(x[i]);
    return r;
#endif
}
INLINE vf max_(vf a, vf b) {
#if !defined __clang__ && W == 16
    return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#elif !defined __clang__ && W == 8
    return __builtin_ia32_maxps256(a, b);
#else
    return select(a > b, a, b);
#endif
}
INLINE int any(vi m) {
#if !defined __clang__ && W == 16
    return (unsigned short)__builtin_ia32_cvtd2mask512(m) != 0;
#elif !defined __clang__ && W == 8
    return __builtin_ia32_movmskps256((vf)m) != 0;
#else
    u64 w[sizeof m / 8], r = 0;
    __builtin_memcpy(w, &m, sizeof w);
    for (unsigned i = 0; i < sizeof m / 8; i++) r |= w[i];
    return r != 0;
#endif
}
INLINE f32 sum_lanes(vf v) {
    f32 a[W];
    __builtin_memcpy(a, &v, sizeof a);
    for (int h = W / 2; h; h /= 2)
        for (int i = 0; i < h; i++) a[i] += a[i + h];
    return a[0];
}
INLINE f32 max_lanes(vf v) {
    f32 a[W];
    __builtin_memcpy(a, &v, sizeof a);
    for (int h = W / 2; h; h /= 2)
        for (int i = 0; i < h; i++) a[i] = a[i] > a[i + h] ? a[i] : a[i + h];
    return a[0];
}

/* e^x for x <= 88; below -87 it stays at the smallest normal number, because arithmetic below that is slow. */
INLINE vf exp_(vf x) {
    x = max_(x, splat(-87.0f));
    vf t = fma_(x, splat(1.44269504f), splat(12582912.0f));
    vf k = t - 12582912.0f;
    vf r = fma_(k, splat(-0.693359375f), x);
    r = fma_(k, splat(2.12194440e-4f), r);
    vf p = splat(1.9875691500e-4f);
    p = fma_(p, r, splat(1.3981999507e-3f));
    p = fma_(p, r, splat(8.3334519073e-3f));
    p = fma_(p, r, splat(4.1665795894e-2f));
    p = fma_(p, r, splat(1.6666665459e-1f));
    p = fma_(p, r, splat(5.0000001201e-1f));
    p = fma_(p, r * r, r) + 1.0f;
    return (vf)((vi)p + (((vi)t - 0x4b400000) << 23));
}

/* ln x for normal x > 0. */
INLINE vf log_(vf x) {
    vi bits = (vi)x - 0x3f3504f3;
    vf k = __builtin_convertvector(bits >> 23, vf);
    vf f = (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    vf z = f * f;
    vf p = splat(7.0376836292e-2f);
    p = fma_(p, f, splat(-1.1514610310e-1f));
    p = fma_(p, f, splat(1.1676998740e-1f));
    p = fma_(p, f, splat(-1.2420140846e-1f));
    p = fma_(p, f, splat(1.4249322787e-1f));
    p = fma_(p, f, splat(-1.6668057665e-1f));
    p = fma_(p, f, splat(2.0000714765e-1f));
    p = fma_(p, f, splat(-2.4999993993e-1f));
    p = fma_(p, f, splat(3.3333331174e-1f));
    vf y = p * f * z;
    y = fma_(k, splat(-2.12194440e-4f), y);
    y = fma_(splat(-0.5f), z, y);
    return fma_(k, splat(0.693359375f), f + y);
}
