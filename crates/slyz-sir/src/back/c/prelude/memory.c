// A vector is moved by memcpy of its fixed size: one unaligned access. Lanes that are off read as 0, and their
// memory is not touched.
FN vi32 load_masked_i32(const i32 *p, vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_loaddqusi512_mask) && KNOWS(__builtin_ia32_cvtd2mask512)
    return __builtin_ia32_loaddqusi512_mask(p, (vi32){0}, __builtin_ia32_cvtd2mask512(m));
#elif defined __AVX2__ && W == 8 && KNOWS(__builtin_ia32_maskloadd256)
    return __builtin_ia32_maskloadd256((const vi32 *)p, m);
#elif defined __AVX2__ && W == 4 && KNOWS(__builtin_ia32_maskloadd)
    return __builtin_ia32_maskloadd((const vi32 *)p, m);
#else
    vi32 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i32 *)p)[i];
    return v;
#endif
}

FN void store_masked_i32(i32 *p, vi32 v, vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_storedqusi512_mask) && KNOWS(__builtin_ia32_cvtd2mask512)
    __builtin_ia32_storedqusi512_mask(p, v, __builtin_ia32_cvtd2mask512(m));
#elif defined __AVX2__ && W == 8 && KNOWS(__builtin_ia32_maskstored256)
    __builtin_ia32_maskstored256((vi32 *)p, m, v);
#elif defined __AVX2__ && W == 4 && KNOWS(__builtin_ia32_maskstored)
    __builtin_ia32_maskstored((vi32 *)p, m, v);
#else
    EACH(i) if (m[i]) ((any_i32 *)p)[i] = v[i];
#endif
}

// The machine's own name for 64-bit integers, in the types of its built-in functions.
typedef VECTOR(long long) vlong;

FN vi64 load_masked_i64(const i64 *p, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_loaddqudi512_mask) && KNOWS(__builtin_ia32_cvtd2mask256)
    return (vi64)__builtin_ia32_loaddqudi512_mask((const long long *)p, (vlong){0}, __builtin_ia32_cvtd2mask256(m));
#elif defined __AVX2__ && W == 4 && KNOWS(__builtin_ia32_maskloadq256)
    return (vi64)__builtin_ia32_maskloadq256((const vlong *)p, (vlong)widen_mask(m));
#else
    vi64 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i64 *)p)[i];
    return v;
#endif
}

FN void store_masked_i64(i64 *p, vi64 v, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_storedqudi512_mask) && KNOWS(__builtin_ia32_cvtd2mask256)
    __builtin_ia32_storedqudi512_mask((long long *)p, (vlong)v, __builtin_ia32_cvtd2mask256(m));
#elif defined __AVX2__ && W == 4 && KNOWS(__builtin_ia32_maskstoreq256)
    __builtin_ia32_maskstoreq256((vlong *)p, (vlong)widen_mask(m), (vlong)v);
#else
    EACH(i) if (m[i]) ((any_i64 *)p)[i] = v[i];
#endif
}

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
FN v$T load_masked_$T(const $T *p, vi32 m) { return (v$T)load_masked_$B((const $B *)p, m); }

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
FN void store_masked_$T($T *p, v$T v, vi32 m) { store_masked_$B(($B *)p, (v$B)v, m); }

// The first n lanes: none where n is 0 or less, all of them from W on, which is one plain access.
//: T = f32, f64, i32, u32, i64, u64
FN v$T load_$T(const $T *p, int n) {
    v$T v;
    if (n < W) return load_masked_$T(p, first_lanes(n));
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

//: T = f32, f64, i32, u32, i64, u64
FN void store_$T($T *p, v$T v, int n) {
    if (n < W) store_masked_$T(p, v, first_lanes(n));
    else __builtin_memcpy(p, &v, sizeof v);
}

// Narrow types widen to 32-bit lanes on the way in and drop what is above on the way out.
//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L load_masked_$T(const $T *p, vi32 m) {
    v$T v = {0};
    EACH(i) if (m[i]) v[i] = p[i];
    return __builtin_convertvector(v, v$L);
}

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN void store_masked_$T($T *p, v$L v, vi32 m) {
    EACH(i) if (m[i]) p[i] = ($T)v[i];
}

// Part of a vector of at most 32 bytes, by halves: a copy of unknown size would call the C library. The bits of a
// negative number are no sizes.
FN void copy_part(void *to, const void *from, int bytes, int whole) {
    char *y = to;
    const char *x = from;
    if (bytes <= 0) return;
    if (whole > 16 && bytes & 16) __builtin_memcpy(y, x, 16), y += 16, x += 16;
    if (whole > 8 && bytes & 8) __builtin_memcpy(y, x, 8), y += 8, x += 8;
    if (whole > 4 && bytes & 4) __builtin_memcpy(y, x, 4), y += 4, x += 4;
    if (whole > 2 && bytes & 2) __builtin_memcpy(y, x, 2), y += 2, x += 2;
    if (bytes & 1) *y = *x;
}

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L load_$T(const $T *p, int n) {
    v$T v;
    if (n >= W) {
        __builtin_memcpy(&v, p, sizeof v);
    } else {
        $T part[W] = {0};
        copy_part(part, p, n * (int)sizeof *p, sizeof part);
        __builtin_memcpy(&v, part, sizeof v);
    }
    return __builtin_convertvector(v, v$L);
}

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN void store_$T($T *p, v$L v, int n) {
    v$T low = __builtin_convertvector(v, v$T);
    if (n >= W) {
        __builtin_memcpy(p, &low, sizeof low);
    } else {
        $T part[W];
        __builtin_memcpy(part, &low, sizeof low);
        copy_part(p, part, n * (int)sizeof *p, sizeof part);
    }
}

//: T = f16, bf16
FN vf32 load_$T(const $T *p, int n) { return $T_from_bits(load_u16(p, n)); }

//: T = f16, bf16
FN void store_$T($T *p, vf32 v, int n) { store_u16(p, $T_to_bits(v), n); }

//: T = f16, bf16
FN vf32 load_masked_$T(const $T *p, vi32 m) { return $T_from_bits(load_masked_u16(p, m)); }

//: T = f16, bf16
FN void store_masked_$T($T *p, vf32 v, vi32 m) { store_masked_u16(p, $T_to_bits(v), m); }

FN vi32 load_bool(const u8 *p, int n) { return (vi32)(load_u8(p, n) != 0); }

FN void store_bool(u8 *p, vi32 v, int n) { store_u8(p, (vu32)(v & 1), n); }

FN vi32 load_masked_bool(const u8 *p, vi32 m) { return (vi32)(load_masked_u8(p, m) != 0); }

FN void store_masked_bool(u8 *p, vi32 v, vi32 m) { store_masked_u8(p, (vu32)(v & 1), m); }

// Gathers: lane i reads base[index[i]].
FN vi32 gather_i32(const i32 *base, vi32 index, vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_gathersiv16si) && KNOWS(__builtin_ia32_cvtd2mask512)
    return __builtin_ia32_gathersiv16si((vi32){0}, base, index, __builtin_ia32_cvtd2mask512(m), 4);
#elif AVX512 && W == 8 && KNOWS(__builtin_ia32_gather3siv8si) && KNOWS(__builtin_ia32_cvtd2mask256)
    return __builtin_ia32_gather3siv8si((vi32){0}, base, index, __builtin_ia32_cvtd2mask256(m), 4);
#else
    vi32 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i32 *)base)[index[i]];
    return v;
#endif
}

FN vi64 gather_i64(const i64 *base, vi32 index, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_gathersiv8di) && KNOWS(__builtin_ia32_cvtd2mask256)
    return (vi64)__builtin_ia32_gathersiv8di((vlong){0}, base, index, __builtin_ia32_cvtd2mask256(m), 8);
#else
    vi64 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i64 *)base)[index[i]];
    return v;
#endif
}

FN vi32 gather_i32_wide(const i32 *base, vi64 index, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_gatherdiv16si) && KNOWS(__builtin_ia32_cvtd2mask256)
    return __builtin_ia32_gatherdiv16si((vi32){0}, base, (vlong)index, __builtin_ia32_cvtd2mask256(m), 4);
#else
    vi32 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i32 *)base)[index[i]];
    return v;
#endif
}

FN vi64 gather_i64_wide(const i64 *base, vi64 index, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_gatherdiv8di) && KNOWS(__builtin_ia32_cvtd2mask256)
    return (vi64)__builtin_ia32_gatherdiv8di((vlong){0}, base, (vlong)index, __builtin_ia32_cvtd2mask256(m), 8);
#else
    vi64 v = {0};
    EACH(i) if (m[i]) v[i] = ((const any_i64 *)base)[index[i]];
    return v;
#endif
}

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
FN v$T gather_$T(const $T *base, vi32 index, vi32 m) { return (v$T)gather_$B((const $B *)base, index, m); }

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
FN v$T gather_$T_wide(const $T *base, vi64 index, vi32 m) { return (v$T)gather_$B_wide((const $B *)base, index, m); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
//: WIDE I = ^ i32, _wide i64
FN v$L gather_$T$WIDE(const $T *base, v$I index, vi32 m) {
    v$L v = {0};
    EACH(i) if (m[i]) v[i] = base[index[i]];
    return v;
}

//: T = f16, bf16
//: WIDE I = ^ i32, _wide i64
FN vf32 gather_$T$WIDE(const $T *base, v$I index, vi32 m) { return $T_from_bits(gather_u16$WIDE(base, index, m)); }

//: WIDE I = ^ i32, _wide i64
FN vi32 gather_bool$WIDE(const u8 *base, v$I index, vi32 m) { return (vi32)(gather_u8$WIDE(base, index, m) != 0); }

// Scatters: lane i writes base[index[i]], in the order of the lanes.
FN void scatter_i32(i32 *base, vi32 index, vi32 v, vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_scattersiv16si) && KNOWS(__builtin_ia32_cvtd2mask512)
    __builtin_ia32_scattersiv16si(base, __builtin_ia32_cvtd2mask512(m), index, v, 4);
#elif AVX512 && W == 8 && KNOWS(__builtin_ia32_scattersiv8si) && KNOWS(__builtin_ia32_cvtd2mask256)
    __builtin_ia32_scattersiv8si(base, __builtin_ia32_cvtd2mask256(m), index, v, 4);
#else
    EACH(i) if (m[i]) ((any_i32 *)base)[index[i]] = v[i];
#endif
}

FN void scatter_i64(i64 *base, vi32 index, vi64 v, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_scattersiv8di) && KNOWS(__builtin_ia32_cvtd2mask256)
    __builtin_ia32_scattersiv8di(base, __builtin_ia32_cvtd2mask256(m), index, (vlong)v, 8);
#else
    EACH(i) if (m[i]) ((any_i64 *)base)[index[i]] = v[i];
#endif
}

FN void scatter_i32_wide(i32 *base, vi64 index, vi32 v, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_scatterdiv16si) && KNOWS(__builtin_ia32_cvtd2mask256)
    __builtin_ia32_scatterdiv16si(base, __builtin_ia32_cvtd2mask256(m), (vlong)index, v, 4);
#else
    EACH(i) if (m[i]) ((any_i32 *)base)[index[i]] = v[i];
#endif
}

FN void scatter_i64_wide(i64 *base, vi64 index, vi64 v, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_scatterdiv8di) && KNOWS(__builtin_ia32_cvtd2mask256)
    __builtin_ia32_scatterdiv8di(base, __builtin_ia32_cvtd2mask256(m), (vlong)index, (vlong)v, 8);
#else
    EACH(i) if (m[i]) ((any_i64 *)base)[index[i]] = v[i];
#endif
}

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
//: WIDE I = ^ i32, _wide i64
FN void scatter_$T$WIDE($T *base, v$I index, v$T v, vi32 m) { scatter_$B$WIDE(($B *)base, index, (v$B)v, m); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
//: WIDE I = ^ i32, _wide i64
FN void scatter_$T$WIDE($T *base, v$I index, v$L v, vi32 m) {
    EACH(i) if (m[i]) base[index[i]] = ($T)v[i];
}

//: T = f16, bf16
//: WIDE I = ^ i32, _wide i64
FN void scatter_$T$WIDE($T *base, v$I index, vf32 v, vi32 m) { scatter_u16$WIDE(base, index, $T_to_bits(v), m); }

//: WIDE I = ^ i32, _wide i64
FN void scatter_bool$WIDE(u8 *base, v$I index, vi32 v, vi32 m) { scatter_u8$WIDE(base, index, (vu32)(v & 1), m); }

// How many lanes are on.
FN int lanes_on(vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_cvtd2mask512)
    return __builtin_popcount((u16)__builtin_ia32_cvtd2mask512(m));
#elif AVX512 && W == 8 && KNOWS(__builtin_ia32_cvtd2mask256)
    return __builtin_popcount((u8)__builtin_ia32_cvtd2mask256(m));
#elif defined __AVX__ && defined __POPCNT__ && W == 8 && KNOWS(__builtin_ia32_movmskps256)
    return __builtin_popcount((u8)__builtin_ia32_movmskps256((vf32)m));
#else
    int on = 0;
    EACH(i) on -= m[i];
    return on;
#endif
}

// The lanes that are on, moved to the front in order; the lanes behind them hold anything.
FN vi32 pack_i32(vi32 v, vi32 m) {
#if AVX512 && W == 16 && KNOWS(__builtin_ia32_compresssi512_mask) && KNOWS(__builtin_ia32_cvtd2mask512)
    return __builtin_ia32_compresssi512_mask(v, (vi32){0}, __builtin_ia32_cvtd2mask512(m));
#elif AVX512 && W == 8 && KNOWS(__builtin_ia32_compresssi256_mask) && KNOWS(__builtin_ia32_cvtd2mask256)
    return __builtin_ia32_compresssi256_mask(v, (vi32){0}, __builtin_ia32_cvtd2mask256(m));
#else
    i32 front[W] = {0};
    int k = 0;
    EACH(i) front[k] = v[i], k -= m[i];
    __builtin_memcpy(&v, front, sizeof v);
    return v;
#endif
}

FN vi64 pack_i64(vi64 v, vi32 m) {
#if AVX512 && W == 8 && KNOWS(__builtin_ia32_compressdi512_mask) && KNOWS(__builtin_ia32_cvtd2mask256)
    return (vi64)__builtin_ia32_compressdi512_mask((vlong)v, (vlong){0}, __builtin_ia32_cvtd2mask256(m));
#else
    i64 front[W] = {0};
    int k = 0;
    EACH(i) front[k] = v[i], k -= m[i];
    __builtin_memcpy(&v, front, sizeof v);
    return v;
#endif
}

//: T B = f32 i32, u32 i32, f64 i64, u64 i64
FN v$T pack_$T(v$T v, vi32 m) { return (v$T)pack_$B((v$B)v, m); }

FN vi32 pack_bool(vi32 v, vi32 m) { return pack_i32(v, m); }

// Stores a full vector around the caches, for results too large to be found there again. The machine's instruction takes
// a whole register of floats; a copy turns any vector into one.
//: T = f32, i32, u32, f64, i64, u64
FN void stream_$T($T *p, v$T v, int n, int past) {
    if (!past || n < W || sizeof v != BYTES || ((u64)p & (BYTES - 1)) != 0) {
        store_$T(p, v, n);
        return;
    }
#if HAS(__builtin_nontemporal_store)
    __builtin_nontemporal_store(v, (v$T *)p);
#elif defined __SSE2__ && KNOWS(__builtin_ia32_movntps)
    f32 whole __attribute__((vector_size(BYTES)));
    __builtin_memcpy(&whole, &v, sizeof v);
# if BYTES == 64
    __builtin_ia32_movntps512((f32 *)p, whole);
# elif BYTES == 32
    __builtin_ia32_movntps256((f32 *)p, whole);
# else
    __builtin_ia32_movntps((f32 *)p, whole);
# endif
#else
    store_$T(p, v, n);
#endif
}

// Streamed stores are seen by others only after this.
FN void stream_end(int past) {
#if defined __SSE2__
    if (past) __builtin_ia32_sfence();
#else
    if (past) __sync_synchronize();
#endif
}

// Lanes of consecutive positions from at on, each moved to the nearest of lo..hi: neighbours in memory, except at the edges, where all
// of them are in the first vector or the last.
//: T V = f32 f32, i32 i32, u32 u32, i8 i32, u8 u32, i16 i32, u16 u32, f16 f32, bf16 f32
FN v$V load_clamped_$T(const $T *p, i64 at, i64 lo, i64 hi, int n, int inside) {
    if (inside || __builtin_expect(at >= lo && at + n - 1 <= hi, 1)) return load_$T(p + at, n);
#ifndef __clang__
    if (hi - lo >= W - 1) {
        i64 edge = at < lo ? lo : hi - W + 1;
        vi32 lane = iota_i32() + (i32)(at - edge);
        lane = select_i32(lane < 0, all_i32(0), lane);
        lane = select_i32(lane > W - 1, all_i32(W - 1), lane);
        return (v$V)(__builtin_shuffle((vi32)load_$T(p + edge, W), lane) & first_lanes(n));
    }
#endif
    vi32 index = iota_i32() + (i32)(at - lo);
    index = select_i32(index < 0, all_i32(0), index);
    index = select_i32(index > (i32)(hi - lo), all_i32((i32)(hi - lo)), index);
    return gather_$T(p + lo, index, first_lanes(n));
}

// The same for wide lanes.
//: T = f64, i64, u64
FN v$T load_clamped_$T(const $T *p, i64 at, i64 lo, i64 hi, int n, int inside) {
    if (inside || __builtin_expect(at >= lo && at + n - 1 <= hi, 1)) return load_$T(p + at, n);
    vi32 index = iota_i32() + (i32)(at - lo);
    index = select_i32(index < 0, all_i32(0), index);
    index = select_i32(index > (i32)(hi - lo), all_i32((i32)(hi - lo)), index);
    return gather_$T(p + lo, index, first_lanes(n));
}

FN vi32 load_clamped_bool(const u8 *p, i64 at, i64 lo, i64 hi, int n, int inside) {
    return (vi32)(load_clamped_u8(p, at, lo, hi, n, inside) != 0);
}

// One step of turning a square of lanes: rows h apart swap the halves of their 2h-lane groups that lie off the diagonal.
//: T = f32, i32, u32
FN void turn_step_$T(v$T *square, int h) {
    vi32 lane = iota_i32(), upper = (lane & h) != 0;
    vi32 low = select_i32(upper, lane - h + W, lane), high = select_i32(upper, lane + W, lane + h);
    EACH(k) if (!(k & h)) {
        v$T a = square[k], b = square[k + h];
#ifdef __clang__
        EACH(i) { square[k][i] = low[i] < W ? a[low[i]] : b[low[i] - W]; square[k + h][i] = high[i] < W ? a[high[i]] : b[high[i] - W]; }
#else
        square[k] = __builtin_shuffle(a, b, low);
        square[k + h] = __builtin_shuffle(a, b, high);
#endif
    }
}

// A square of W rows, stride apart in memory, loaded along the rows and turned around: vector k holds column k.
//: T = f32, i32, u32
FN void load_turned_$T(v$T *square, const $T *p, i64 stride, int rows, int columns) {
    EACH(k) square[k] = k < rows ? load_$T(p + k * stride, columns) : (v$T){0};
    turn_step_$T(square, 1);
    if (W > 2) turn_step_$T(square, 2);
    if (W > 4) turn_step_$T(square, 4);
    if (W > 8) turn_step_$T(square, 8);
}
