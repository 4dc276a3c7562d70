// One element, changed so that no other core can come between; gives what was there. Equality is that of the bits.
//: T = i8, u8, i16, u16, i32, u32, i64, u64
//: O = add, and, or, xor
FN $T atomic_one_$O_$T($T *p, $T x) { return __atomic_fetch_$O(p, x, __ATOMIC_SEQ_CST); }

//: T = i8, u8, i16, u16, i32, u32, i64, u64
//: O S = add +, and &, or |
FN $T own_one_$O_$T($T *p, $T x) {
    $T old = *p;
    *p = ($T)(old $S x);
    return old;
}

//: T = i8, u8, i16, u16, i32, u32, i64, u64
FN $T own_one_xor_$T($T *p, $T x) {
    $T old = *p;
    *p = ($T)(old ^ x);
    return old;
}

//: T = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
//: O = min, max
FN $T atomic_one_$O_$T($T *p, $T x) {
    $T old, new;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do new = s_$O_$T(old, x);
    while (!__atomic_compare_exchange(p, &old, &new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return old;
}

//: T = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
//: O = min, max
FN $T own_one_$O_$T($T *p, $T x) {
    $T old = *p;
    *p = s_$O_$T(old, x);
    return old;
}

//: T = f32, f64
FN $T atomic_one_add_$T($T *p, $T x) {
    $T old, new;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do new = old + x;
    while (!__atomic_compare_exchange(p, &old, &new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return old;
}

//: T = f32, f64
FN $T own_one_add_$T($T *p, $T x) {
    $T old = *p;
    *p = old + x;
    return old;
}

//: T = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
FN $T atomic_one_exchange_$T($T *p, $T x) {
    $T old;
    __atomic_exchange(p, &x, &old, __ATOMIC_SEQ_CST);
    return old;
}

//: T = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
FN $T own_one_exchange_$T($T *p, $T x) {
    $T old = *p;
    *p = x;
    return old;
}

FN i32 atomic_one_compare_exchange_i32(i32 *p, i32 expected, i32 new) {
    __atomic_compare_exchange(p, &expected, &new, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    return expected;
}

// The first to find 0 leaves its mark, and numbers behind it, low words first: the thread, and a position outside.
RARE i32 claim(i32 *p, i32 mark, i64 x, i64 y, i64 z, i64 i, i64 j, i64 k, i64 l) {
    i32 old = atomic_one_compare_exchange_i32(p, 0, mark);
    i64 numbers[7] = {x, y, z, i, j, k, l};
    for (int n = 0; old == 0 && n < 7; n++) {
        p[1 + 2 * n] = (i32)numbers[n];
        p[2 + 2 * n] = (i32)(numbers[n] >> 32);
    }
    return old;
}

// Lanes in their order.
//: K = atomic, own
//: O = add, min, max, and, or, xor, exchange
//: T L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
//: WIDE I = ^ i32, _wide i64
FN v$L $K_$O_$T$WIDE($T *p, v$I index, v$L v, vi32 m) {
    v$L old = {0};
    for (int i = 0; i < W; i++) if (m[i]) old[i] = $K_one_$O_$T(p + index[i], ($T)v[i]);
    return old;
}

//: K = atomic, own
//: O = add, min, max, exchange
//: T = f32, f64
//: WIDE I = ^ i32, _wide i64
FN v$T $K_$O_$T$WIDE($T *p, v$I index, v$T v, vi32 m) {
    v$T old = {0};
    for (int i = 0; i < W; i++) if (m[i]) old[i] = $K_one_$O_$T(p + index[i], v[i]);
    return old;
}

// The lanes first among themselves, then once in memory.
//: K = atomic, own
//: O = add, min, max, and, or, xor
//: T L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
FN void $K_$O_all_$T($T *p, v$L v, vi32 m) {
    $T x = 0;
    int some = 0;
    for (int i = 0; i < W; i++) if (m[i]) {
        if (some) own_one_$O_$T(&x, ($T)v[i]);
        else x = ($T)v[i];
        some = 1;
    }
    if (some) $K_one_$O_$T(p, x);
}

//: K = atomic, own
//: T L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64, f32 f32, f64 f64
//: WIDE I = ^ i32, _wide i64
FN v$L $K_load_$T$WIDE($T *p, v$I index, vi32 m) {
    v$L v = {0};
    for (int i = 0; i < W; i++) if (m[i]) {
        $T x;
        __atomic_load(p + index[i], &x, __ATOMIC_ACQUIRE);
        v[i] = x;
    }
    return v;
}

//: K = atomic, own
//: T L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64, f32 f32, f64 f64
//: WIDE I = ^ i32, _wide i64
FN v$L $K_compare_exchange_$T$WIDE($T *p, v$I index, v$L expected, v$L v, vi32 m) {
    v$L old = {0};
    for (int i = 0; i < W; i++) if (m[i]) {
        $T was = ($T)expected[i], new = ($T)v[i];
        __atomic_compare_exchange(p + index[i], &was, &new, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
        old[i] = was;
    }
    return old;
}

//: K = atomic, own
//: O = and, or, xor, exchange
//: WIDE I = ^ i32, _wide i64
FN vi32 $K_$O_bool$WIDE(u8 *p, v$I index, vi32 v, vi32 m) {
    return (vi32)($K_$O_u8$WIDE(p, index, (vu32)(v & 1), m) != 0);
}

//: K = atomic, own
//: WIDE I = ^ i32, _wide i64
FN vi32 $K_load_bool$WIDE(u8 *p, v$I index, vi32 m) { return (vi32)($K_load_u8$WIDE(p, index, m) != 0); }

//: K = atomic, own
//: WIDE I = ^ i32, _wide i64
FN vi32 $K_compare_exchange_bool$WIDE(u8 *p, v$I index, vi32 expected, vi32 v, vi32 m) {
    return (vi32)($K_compare_exchange_u8$WIDE(p, index, (vu32)(expected & 1), (vu32)(v & 1), m) != 0);
}

// Half precision is computed in f32 and compared by its bits.
//: K = atomic, own
//: T = f16, bf16
//: O = add, min, max
//: WIDE I = ^ i32, _wide i64
FN vf32 $K_$O_$T$WIDE($T *p, v$I index, vf32 v, vi32 m) {
    vf32 old = {0};
    for (int i = 0; i < W; i++) if (m[i]) {
        u16 was, new;
        __atomic_load(p + index[i], &was, __ATOMIC_RELAXED);
        do old[i] = lane_f32($T_from_bits(all_u32(was)), 0), new = (u16)lane_u32($T_to_bits(all_f32(half_$O(old[i], v[i]))), 0);
        while (!__atomic_compare_exchange(p + index[i], &was, &new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    }
    return old;
}

FN f32 half_add(f32 a, f32 b) { return a + b; }

//: O = min, max
FN f32 half_$O(f32 a, f32 b) { return s_$O_f32(a, b); }

//: K = atomic, own
//: T = f16, bf16
//: WIDE I = ^ i32, _wide i64
FN vf32 $K_exchange_$T$WIDE($T *p, v$I index, vf32 v, vi32 m) {
    return $T_from_bits($K_exchange_u16$WIDE(p, index, $T_to_bits(v), m));
}

//: K = atomic, own
//: T = f16, bf16
//: WIDE I = ^ i32, _wide i64
FN vf32 $K_load_$T$WIDE($T *p, v$I index, vi32 m) { return $T_from_bits($K_load_u16$WIDE(p, index, m)); }

//: K = atomic, own
//: T = f16, bf16
//: WIDE I = ^ i32, _wide i64
FN vf32 $K_compare_exchange_$T$WIDE($T *p, v$I index, vf32 expected, vf32 v, vi32 m) {
    return $T_from_bits($K_compare_exchange_u16$WIDE(p, index, $T_to_bits(expected), $T_to_bits(v), m));
}
