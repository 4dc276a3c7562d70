// x - 0 is x for every x, -0 included; x + 0 is not.
//: T = f32, f64, i32, u32, i64, u64
FN v$T all_$T($T x) { return x - (v$T){0}; }

//: T = f32, f64, i32, u32, i64, u64
FN $T lane_$T(v$T v, int i) { return v[i]; }

// As many numbers as there are lanes, from one on.
#if W == 16
# define LANES_FROM(k) k, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11, k + 12, k + 13, k + 14, k + 15
#elif W == 8
# define LANES_FROM(k) k, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7
#elif W == 4
# define LANES_FROM(k) k, k + 1, k + 2, k + 3
#else
# define LANES_FROM(k) k, k + 1
#endif

// Lanes moved up by so many places, 0, 1, 2, 4 or 8; what comes in are the last ones of the vector below.
//: T = f32, f64, i32, u32, i64, u64
FN v$T up_$T(v$T below, v$T v, int by) {
#if HAS(__builtin_shufflevector)
    switch (by) {
    case 0: return v;
    case 1: return __builtin_shufflevector(below, v, LANES_FROM(W - 1));
# if W > 2
    case 2: return __builtin_shufflevector(below, v, LANES_FROM(W - 2));
# endif
# if W > 4
    case 4: return __builtin_shufflevector(below, v, LANES_FROM(W - 4));
# endif
# if W > 8
    case 8: return __builtin_shufflevector(below, v, LANES_FROM(W - 8));
# endif
    }
#endif
    v$T up;
    for (int i = 0; i < W; i++) up[i] = i >= by ? v[i - by] : below[W + i - by];
    return up;
}

FN vi32 iota_i32(void) {
#if W == 16
    return (vi32){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif W == 8
    return (vi32){0, 1, 2, 3, 4, 5, 6, 7};
#elif W == 4
    return (vi32){0, 1, 2, 3};
#else
    return (vi32){0, 1};
#endif
}

FN vi64 iota_i64(void) { return __builtin_convertvector(iota_i32(), vi64); }

// Of the lanes that follow each other, those before an end that is so far away.
FN int lanes_before(i64 left) { return left <= 0 ? 0 : left < W ? (int)left : W; }

// The lanes from a position up to where whole vectors start, or to the end.
FN int lanes_to_edge(i64 i, i64 end) {
    i64 edge = i + (-i & (W - 1));
    return lanes_before((edge < end ? edge : end) - i);
}

// Of n lanes in several vectors, those of vector u: none where the lanes end before it.
FN int lanes_left(int n, int u) { return lanes_before(n - u * W); }

// The lanes 0..n.
FN vi32 first_lanes(int n) { return iota_i32() < n; }

// Positions next to each other, from base on and none past the last number, against an end: those below it are the first lanes.
FN vi32 next_lt(i64 base, i64 end) {
    return first_lanes(base >= end ? 0 : (u64)end - (u64)base < W ? (int)(end - base) : W);
}

FN vi32 next_le(i64 base, i64 end) {
    return first_lanes(base > end ? 0 : (u64)end - (u64)base < W ? (int)(end - base) + 1 : W);
}

FN vi32 next_eq(i64 base, i64 end) {
    return iota_i32() == ((u64)end - (u64)base < W ? (int)(end - base) : -1);
}

// Masks of 64-bit lanes, inside functions only.
FN vi32 narrow_mask(vi64 m) { return __builtin_convertvector(m, vi32); }

FN vi64 widen_mask(vi32 m) { return __builtin_convertvector(m, vi64); }

// A cast between vectors of one size keeps the bits.
//: A B = f32 i32, f32 u32, i32 f32, i32 u32, u32 f32, u32 i32, f64 i64, f64 u64, i64 f64, i64 u64, u64 f64, u64 i64
FN v$B bits_$A_$B(v$A x) { return (v$B)x; }

// m ? a : b. Both compilers make one blend of it.
//: T = f32, i32, u32
FN v$T select_$T(vi32 m, v$T a, v$T b) { return (v$T)((m & (vi32)a) | (~m & (vi32)b)); }

//: T = f64, i64, u64
FN v$T pick_$T(vi64 m, v$T a, v$T b) { return (v$T)((m & (vi64)a) | (~m & (vi64)b)); }

//: T = f64, i64, u64
FN v$T select_$T(vi32 m, v$T a, v$T b) { return pick_$T(widen_mask(m), a, b); }

FN vi32 select_bool(vi32 m, vi32 a, vi32 b) { return (m & a) | (~m & b); }

FN int any(vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_cvtd2mask512)
    return (u16)__builtin_ia32_cvtd2mask512(m) != 0;
#elif defined __AVX__ && W == 8 && KNOWS(__builtin_ia32_movmskps256)
    return __builtin_ia32_movmskps256((vf32)m) != 0;
#elif defined __SSE2__ && W == 4 && KNOWS(__builtin_ia32_movmskps)
    return __builtin_ia32_movmskps((vf32)m) != 0;
#else
    u64 words[W / 2], sum = 0;
    __builtin_memcpy(words, &m, sizeof words);
    for (int i = 0; i < W / 2; i++) sum |= words[i];
    return sum != 0;
#endif
}

FN int any_wide(vi64 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_cvtq2mask512)
    // To the machine's functions a 64-bit number is a `long long`.
    return (u8)__builtin_ia32_cvtq2mask512((__attribute__((vector_size(64))) long long)m) != 0;
#elif defined __AVX__ && W == 4 && KNOWS(__builtin_ia32_movmskpd256)
    return __builtin_ia32_movmskpd256((vf64)m) != 0;
#elif defined __SSE2__ && W == 2 && KNOWS(__builtin_ia32_movmskpd)
    return __builtin_ia32_movmskpd((vf64)m) != 0;
#else
    return any(narrow_mask(m));
#endif
}

FN int any_of(const vi32 *m, int ways) {
    vi32 some = m[0];
    for (int u = 1; u < ways; u++) some |= m[u];
    return any(some);
}

FN int all(vi32 m) { return !any(~m); }

// Comparisons. Their result is a mask of 32-bit lanes, whatever they compare.
//: T = f32, i32, u32
//: O S = lt <, le <=, gt >, ge >=, eq ==, ne !=
FN vi32 $O_$T(v$T a, v$T b) { return (vi32)(a $S b); }

//: T = f64, i64, u64
//: O S = lt <, le <=, gt >, ge >=, eq ==, ne !=
FN vi32 $O_$T(v$T a, v$T b) { return narrow_mask((vi64)(a $S b)); }

// false < true, though the lanes of a mask are 0 and -1.
//: O S = lt >, le >=, gt <, ge <=, eq ==, ne !=
FN vi32 $O_bool(vi32 a, vi32 b) { return a $S b; }

// A value that the compiler knows nothing about, and so cannot read from memory once more.
#if defined __AVX512F__
# define IN_VECTOR "+v"
#elif defined __x86_64__
# define IN_VECTOR "+x"
#elif defined __aarch64__
# define IN_VECTOR "+w"
#else
# define IN_VECTOR "+m"
#endif

//: T = f32, f64, i32, u32, i64, u64
FN v$T pin_$T(v$T x) {
    __asm__("" : IN_VECTOR(x));
    return x;
}

//: T = int, i8, u8, i16, u16, i32, u32, i64, u64
FN $T s_pin_$T($T x) {
    __asm__("" : "+r"(x));
    return x;
}

//: T = f32, f64
FN $T s_pin_$T($T x) {
    __asm__("" : IN_VECTOR(x));
    return x;
}
