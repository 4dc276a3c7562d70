// Operators on uniform values, those with corner meanings. Dear mathematics goes through lane 0 of a vector instead.
//: T = i8, i16, i32, i64
FN $T s_div_$T($T a, $T b) { return b == 0 ? a : b == -1 ? ($T)(0 - a) : ($T)(a / b); }

//: T = u8, u16, u32, u64
FN $T s_div_$T($T a, $T b) { return b == 0 ? a : ($T)(a / b); }

//: T = i8, i16, i32, i64
FN $T s_rem_$T($T a, $T b) { return b == 0 || b == -1 ? 0 : ($T)(a % b); }

//: T = u8, u16, u32, u64
FN $T s_rem_$T($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }

//: T = i8, u8, i16, u16, i32, u32, i64, u64
//: O S = min <, max >
FN $T s_$O_$T($T a, $T b) { return a $S b ? a : b; }

//: T = f32, f64
//: O S = min <, max >
FN $T s_$O_$T($T a, $T b) { return a $S b || b != b ? a : b; }

//: T = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
FN $T s_clamp_$T($T x, $T low, $T high) { return s_min_$T(s_max_$T(x, low), high); }

//: T = i8, i16, i32, i64
FN $T s_abs_$T($T x) { return x < 0 ? ($T)(0 - x) : x; }

//: T = u8, u16, u32, u64
FN $T s_abs_$T($T x) { return x; }

//: T = i8, i16, i32, i64
FN $T s_sign_$T($T x) { return ($T)((x > 0) - (x < 0)); }

//: T = u8, u16, u32, u64
FN $T s_sign_$T($T x) { return x != 0; }

//: T = i8, u8, i16, u16, i32, u32, i64, u64
FN $T s_fma_$T($T a, $T b, $T c) { return ($T)((u64)a * (u64)b + (u64)c); }

FN i32 s_dot4_i32(i32 a, i32 b, i32 c) {
    for (int k = 0; k < 32; k += 8) c = (i32)((u32)c + (u32)((i32)((u32)a >> k & 255) * ((i32)((u32)b << (24 - k)) >> 24)));
    return c;
}

//: T U END = i8 u32 7, u8 u32 7, i16 u32 15, u16 u32 15, i32 u32 31, u32 u32 31, i64 u64 63, u64 u64 63
FN $T s_shl_$T($T x, $T n) { return ($T)(($U)x << (n & $END)); }

//: T END = i8 7, u8 7, i16 15, u16 15, i32 31, u32 31, i64 63, u64 63
FN $T s_shr_$T($T x, $T n) { return ($T)(x >> (n & $END)); }

FN u64 s_popcount_u64(u64 x) {
    x = x - ((x >> 1) & 0x5555555555555555);
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (x * 0x0101010101010101) >> 56;
}

//: T U = i8 u8, u8 u8, i16 u16, u16 u16, i32 u32, u32 u32, i64 u64
FN $T s_popcount_$T($T x) { return ($T)s_popcount_u64(($U)x); }

//: T U ABOVE = i8 u8 56, u8 u8 56, i16 u16 48, u16 u16 48, i32 u32 32, u32 u32 32, i64 u64 0, u64 u64 0
FN $T s_leading_zeros_$T($T x) { return ($T)(x ? __builtin_clzll(($U)x) - $ABOVE : 64 - $ABOVE); }

//: T U BITS = i8 u8 8, u8 u8 8, i16 u16 16, u16 u16 16, i32 u32 32, u32 u32 32, i64 u64 64, u64 u64 64
FN $T s_trailing_zeros_$T($T x) { return ($T)(x ? __builtin_ctzll(($U)x) : $BITS); }

FN u64 s_reverse_bits_u64(u64 x) {
    x = ((x >> 1) & 0x5555555555555555) | ((x & 0x5555555555555555) << 1);
    x = ((x >> 2) & 0x3333333333333333) | ((x & 0x3333333333333333) << 2);
    x = ((x >> 4) & 0x0f0f0f0f0f0f0f0f) | ((x & 0x0f0f0f0f0f0f0f0f) << 4);
    return __builtin_bswap64(x);
}

//: T ABOVE = i8 56, u8 56, i16 48, u16 48, i32 32, u32 32, i64 0
FN $T s_reverse_bits_$T($T x) { return ($T)(s_reverse_bits_u64((u64)x) >> $ABOVE); }

//: T F = f32 f, f64 ^
FN $T s_abs_$T($T x) { return __builtin_fabs$F(x); }

//: T = f32, f64
FN $T s_sub_$T($T x, $T y) { return x - y; }

//: T = f32, f64
FN $T s_sign_$T($T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

//: T = f32, f64
FN int s_is_nan_$T($T x) { return x != x; }

//: T F = f32 f, f64 ^
FN int s_is_finite_$T($T x) { return __builtin_fabs$F(x) < __builtin_inf$F(); }

//: T = f32, f64
FN $T s_recip_$T($T x) { return 1 / x; }

//: T F = f32 f, f64 ^
FN $T s_sqrt_$T($T x) { return __builtin_sqrt$F(x); }

//: T F BIG = f32 f 0x1p23f, f64 ^ 0x1p52
FN $T s_trunc_$T($T x) {
    $T size = __builtin_fabs$F(x), whole = (size + $BIG) - $BIG;
    if (whole > size) whole -= 1;
    return size < $BIG ? __builtin_copysign$F(whole, x) : x;
}

//: T F = f32 f, f64 ^
FN $T s_floor_$T($T x) {
    $T t = s_trunc_$T(x);
    return __builtin_copysign$F(t > x ? t - 1 : t, x);
}

//: T F = f32 f, f64 ^
FN $T s_ceil_$T($T x) {
    $T t = s_trunc_$T(x);
    return __builtin_copysign$F(t < x ? t + 1 : t, x);
}

//: T F = f32 f, f64 ^
FN $T s_round_$T($T x) {
    $T t = s_trunc_$T(x), rest = __builtin_fabs$F(x - t);
    return __builtin_copysign$F(rest >= ($T)0.5 ? t + __builtin_copysign$F(1, x) : t, x);
}

// Long division of the significands, as many bits at a time as 64 can hold.
//: T F U REST FRACTION WIDTH STEP = f32 f u32 0x7fffffff 0x7fffff 23 40, f64 ^ u64 0x7fffffffffffffff 0xfffffffffffff 52 11
RARE $T s_rem_$T($T x, $T y) {
    $U a, b;
    __builtin_memcpy(&a, &x, sizeof a);
    __builtin_memcpy(&b, &y, sizeof b);
    a &= $REST;
    b &= $REST;
    if (!(__builtin_fabs$F(x) < __builtin_inf$F()) || y != y || b == 0) return __builtin_nan$F("");
    if (a < b) return x;
    int ea = (int)(a >> $WIDTH), eb = (int)(b >> $WIDTH);
    u64 ma = a & $FRACTION, mb = b & $FRACTION;
    if (ea) ma |= 1ull << $WIDTH;
    else ea = 1;
    if (eb) mb |= 1ull << $WIDTH;
    else eb = 1;
    u64 r = ma % mb;
    for (int left = ea - eb; left > 0 && r; left -= $STEP) r = (r << (left < $STEP ? left : $STEP)) % mb;
    if (r == 0) return __builtin_copysign$F(0, x);
    int up = __builtin_clzll(r) - (63 - $WIDTH);
    if (up > eb - 1) up = eb - 1;
    $U bits = ($U)(((u64)(eb - up - 1) << $WIDTH) + (r << up));
    $T y2;
    __builtin_memcpy(&y2, &bits, sizeof y2);
    return __builtin_copysign$F(y2, x);
}

FN f32 s_fma_f32(f32 a, f32 b, f32 c) {
#if HAS_FMA
    return __builtin_fmaf(a, b, c);
#else
    return lane_f32(fma_f32(all_f32(a), all_f32(b), all_f32(c)), 0);
#endif
}

// x >> n, with the bits that fall out folded into the last.
FN u128 shift_sticky(u128 x, int n) {
    if (n <= 0) return x;
    if (n > 127) return x != 0;
    return (x >> n) | ((x << (128 - n)) != 0);
}

// A number as m 2^e with the top bit of m at position 125.
FN u128 significand_f64(u64 bits, int *e) {
    u64 m = bits & 0xfffffffffffff;
    int exponent = (int)(bits >> 52) & 0x7ff;
    if (exponent) m |= 0x10000000000000;
    else exponent = 1;
    int zeros = __builtin_clzll(m);
    *e = exponent - 1075 - zeros - 62;
    return (u128)(m << zeros) << 62;
}

// Fused multiply-add in integers, for machines without one.
RARE f64 soft_fma_f64(f64 a, f64 b, f64 c) {
    u64 x, y, z, rest = 0x7fffffffffffffff;
    __builtin_memcpy(&x, &a, sizeof x);
    __builtin_memcpy(&y, &b, sizeof y);
    __builtin_memcpy(&z, &c, sizeof z);
    u64 top = 0x7ffull << 52;
    if ((x & top) == top || (y & top) == top || !(x & rest) || !(y & rest)) return a * b + c;
    if ((z & top) == top) return c;
    if (!(z & rest)) return a * b;
    int ex, ey, ez, minus = (int)((x ^ y) >> 63), opposed = (int)((x ^ y ^ z) >> 63);
    u128 mx = significand_f64(x, &ex), my = significand_f64(y, &ey), mz = significand_f64(z, &ez);
    // The product has its top bit at 126 or 127 and zeros below, so bringing that to 125 loses nothing.
    u128 p = (u128)(u64)(mx >> 62) * (u64)(my >> 62);
    int down = p >> 127 ? 2 : 1, ep = ex + ey + 124 + down;
    p >>= down;
    u128 large = p, small = mz;
    int e = ep, gap = ep - ez, sign = minus;
    if (gap < 0) large = mz, small = p, e = ez, gap = -gap, sign = minus ^ opposed;
    small = shift_sticky(small, gap);
    u128 r;
    if (!opposed) r = large + small;
    else if (large >= small) r = large - small;
    else r = small - large, sign = !sign;
    if (r == 0) return 0.0;
    int zeros = r >> 64 ? __builtin_clzll((u64)(r >> 64)) : 64 + __builtin_clzll((u64)r);
    r <<= zeros;
    e -= zeros;
    int exponent = e + 127;
    u64 m = (u64)(r >> 64) | ((u64)r != 0);
    if (exponent < -1022) m = (u64)shift_sticky(m, -1022 - exponent), exponent = -1023;
    u64 odd = (m >> 11) & 1, bits = (m >> 11) + ((m & 0x7ff) + odd > 0x400);
    if (exponent > 1023) bits = top;
    else if (exponent >= -1022) bits += (u64)(exponent + 1022) << 52;
    bits |= (u64)sign << 63;
    f64 result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
}

FN f64 s_fma_f64(f64 a, f64 b, f64 c) {
#if HAS_FMA
    return __builtin_fma(a, b, c);
#else
    return soft_fma_f64(a, b, c);
#endif
}

// Conversions; a bool is an int here, 0 or 1.
//: A = f32, f64
//: B LOW END MIN MAX = i8 -128 128 -128 127, u8 0 256 0 255, i16 -32768 32768 -32768 32767, u16 0 65536 0 65535, i32 -0x1p31 0x1p31 (-0x7fffffff-1) 0x7fffffff, u32 0 0x1p32 0 0xffffffff, i64 -0x1p63 0x1p63 (-0x7fffffffffffffff-1) 0x7fffffffffffffff, u64 0 0x1p64 0 0xffffffffffffffff
FN $B s_cast_$A_$B($A x) { return x != x ? 0 : x < ($A)$LOW ? $MIN : x >= ($A)$END ? $MAX : ($B)x; }

//: A = f16, bf16
//: B = i8, u8, i16, u16, i32, u32, i64, u64
FN $B s_cast_$A_$B(f32 x) { return s_cast_f32_$B(x); }

//: A = i8, u8, i16, u16, i32, u32, i64, u64
//: B = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
FN $B s_cast_$A_$B($A x) { return ($B)x; }

//: A C = f16 f32, bf16 f32, f32 f32, f64 f64
//: B = f32, f64
FN $B s_cast_$A_$B($C x) { return ($B)x; }

//: A C = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64, f32 f32, f64 f64, f16 f32, bf16 f32
//: B = f16, bf16
FN f32 s_cast_$A_$B($C x) { return lane_f32(cast_$A_$B(all_$C(x)), 0); }

//: A = i8, u8, i16, u16, i32, u32, i64, u64, f32, f64
FN int s_cast_$A_bool($A x) { return x != 0; }

//: A = f16, bf16
FN int s_cast_$A_bool(f32 x) { return x != 0; }

//: B C = i8 i8, u8 u8, i16 i16, u16 u16, i32 i32, u32 u32, i64 i64, u64 u64, f32 f32, f64 f64, f16 f32, bf16 f32
FN $C s_cast_bool_$B(int x) { return ($C)(x != 0); }

FN int s_cast_bool_bool(int x) { return x; }

//: A B = f32 i32, f32 u32, i32 f32, i32 u32, u32 f32, u32 i32, f64 i64, f64 u64, i64 f64, i64 u64, u64 f64, u64 i64, i8 u8, u8 i8, i16 u16, u16 i16
FN $B s_bits_$A_$B($A x) {
    $B y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}

//: T = f16, bf16
FN f32 s_round_$T(f32 x) { return lane_f32(round_$T(all_f32(x)), 0); }

// One element of half precision, in memory and out of it.
//: T = f16, bf16
FN f32 s_load_$T(const $T *p) { return lane_f32($T_from_bits(all_u32(*p)), 0); }

//: T = f16, bf16
FN void s_store_$T($T *p, f32 x) { *p = ($T)lane_u32($T_to_bits(all_f32(x)), 0); }

//: T = f16, bf16
//: B = i16, u16
FN $B s_bits_$T_$B(f32 x) { return ($B)lane_u32($T_to_bits(all_f32(x)), 0); }

//: T = f16, bf16
//: B = i16, u16
FN f32 s_bits_$B_$T($B x) { return lane_f32($T_from_bits(all_u32((u16)x)), 0); }
