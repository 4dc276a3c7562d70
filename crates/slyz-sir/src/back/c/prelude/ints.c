// a / b where the machine does not trap. It has no vector form for integers; that of f64 is exact for 32 bits. A divisor
// that the compiler knows is better left to it.
FN vi32 quotient_i32(vi32 a, vi32 b) {
    if (BYTES == 16 || __builtin_constant_p(b[0])) return a / b;
    return __builtin_convertvector(__builtin_convertvector(a, vf64) / __builtin_convertvector(b, vf64), vi32);
}

FN vu32 quotient_u32(vu32 a, vu32 b) {
    if (!AVX512 || __builtin_constant_p(b[0])) return a / b;
    return __builtin_convertvector(__builtin_convertvector(a, vf64) / __builtin_convertvector(b, vf64), vu32);
}

//: T = i64, u64
FN v$T quotient_$T(v$T a, v$T b) { return a / b; }

// x / 0 is x and MIN / -1 is MIN; the machine would trap on both.
//: T = i32, i64
FN v$T div_$T(v$T a, v$T b) {
    v$T minus = (v$T)(b == -1), odd = minus | (v$T)(b == 0);
    v$T q = quotient_$T(a, (odd & 1) | (~odd & b));
    return (minus & -a) | (~minus & q);
}

//: T = u32, u64
FN v$T div_$T(v$T a, v$T b) { return quotient_$T(a, b | ((v$T)(b == 0) & 1)); }

//: T = i32, i64
FN v$T rem_$T(v$T a, v$T b) {
    v$T odd = (v$T)(b == -1) | (v$T)(b == 0), d = (odd & 1) | (~odd & b);
    return a - quotient_$T(a, d) * d;
}

//: T = u32, u64
FN v$T rem_$T(v$T a, v$T b) {
    v$T d = b | ((v$T)(b == 0) & 1);
    return a - quotient_$T(a, d) * d;
}

//: T = i32, u32, i64, u64
//: O S = min <, max >
FN v$T $O_$T(v$T a, v$T b) {
    v$T m = (v$T)(a $S b);
    return (m & a) | (~m & b);
}

//: T = i32, u32, i64, u64
FN v$T clamp_$T(v$T x, v$T low, v$T high) { return min_$T(max_$T(x, low), high); }

//: T = i32, i64
FN v$T abs_$T(v$T x) {
    v$T m = (v$T)(x < 0);
    return (x ^ m) - m;
}

//: T = u32, u64
FN v$T abs_$T(v$T x) { return x; }

//: T = i32, i64
FN v$T sign_$T(v$T x) { return (v$T)(x < 0) - (v$T)(x > 0); }

//: T = u32, u64
FN v$T sign_$T(v$T x) { return (v$T)(x != 0) & 1; }

//: T = i32, u32, i64, u64
FN v$T fma_$T(v$T a, v$T b, v$T c) { return a * b + c; }

// Four products of bytes, those of `a` without a sign.
FN vi32 dot4_i32(vi32 a, vi32 b, vi32 c) {
#if AVX512 && defined __AVX512VNNI__ && !LANES_64
# ifdef __clang__
    return (vi32)__builtin_ia32_vpdpbusd512(c, a, b);
# else
    return __builtin_ia32_vpdpbusd_v16si(c, a, b);
# endif
#elif defined __AVX2__ && BYTES == 32 && !LANES_64
    typedef short pairs __attribute__((vector_size(32)));
    pairs even = (pairs)(a & 0x00ff00ff), odd = (pairs)((vu32)a >> 8 & 0x00ff00ff);
    pairs low = (pairs)b << 8 >> 8, high = (pairs)b >> 8;
    return c + (vi32)__builtin_ia32_pmaddwd256(even, low) + (vi32)__builtin_ia32_pmaddwd256(odd, high);
#else
    for (int k = 0; k < 32; k += 8) c += ((a >> k) & 255) * ((vi32)((vu32)b << (24 - k)) >> 24);
    return c;
#endif
}

// The amount of a shift counts modulo the width.
//: T U END = i32 u32 31, u32 u32 31, i64 u64 63, u64 u64 63
FN v$T shl_$T(v$T x, v$T n) { return (v$T)((v$U)x << (v$U)(n & $END)); }

//: T END = i32 31, u32 31, i64 63, u64 63
FN v$T shr_$T(v$T x, v$T n) { return x >> (n & $END); }

FN vu32 popcount_u32(vu32 x) {
    x = x - ((x >> 1) & 0x55555555);
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    return (x * 0x01010101) >> 24;
}

FN vu64 popcount_u64(vu64 x) {
    x = x - ((x >> 1) & 0x5555555555555555);
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (x * 0x0101010101010101) >> 56;
}

FN vu32 leading_zeros_u32(vu32 x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return 32 - popcount_u32(x);
}

FN vu64 leading_zeros_u64(vu64 x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    x |= x >> 32;
    return 64 - popcount_u64(x);
}

//: T = u32, u64
FN v$T trailing_zeros_$T(v$T x) { return popcount_$T(~x & (x - 1)); }

FN vu32 reverse_bits_u32(vu32 x) {
    x = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
    x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2);
    x = ((x >> 4) & 0x0f0f0f0f) | ((x & 0x0f0f0f0f) << 4);
    x = ((x >> 8) & 0x00ff00ff) | ((x & 0x00ff00ff) << 8);
    return (x >> 16) | (x << 16);
}

FN vu64 reverse_bits_u64(vu64 x) {
    x = ((x >> 1) & 0x5555555555555555) | ((x & 0x5555555555555555) << 1);
    x = ((x >> 2) & 0x3333333333333333) | ((x & 0x3333333333333333) << 2);
    x = ((x >> 4) & 0x0f0f0f0f0f0f0f0f) | ((x & 0x0f0f0f0f0f0f0f0f) << 4);
    x = ((x >> 8) & 0x00ff00ff00ff00ff) | ((x & 0x00ff00ff00ff00ff) << 8);
    x = ((x >> 16) & 0x0000ffff0000ffff) | ((x & 0x0000ffff0000ffff) << 16);
    return (x >> 32) | (x << 32);
}

//: T U = i32 u32, i64 u64
//: O = popcount, leading_zeros, trailing_zeros, reverse_bits
FN v$T $O_$T(v$T x) { return (v$T)$O_$U((v$U)x); }

// Narrow integers live in 32-bit lanes and are brought back to their range after what may leave it.
//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L wrap_$T(v$L x) { return __builtin_convertvector(__builtin_convertvector(x, v$T), v$L); }

//: T L END = i8 i32 7, u8 u32 7, i16 i32 15, u16 u32 15
FN v$L shl_$T(v$L x, v$L n) { return wrap_$T((v$L)((vu32)x << (vu32)(n & $END))); }

//: T L END = i8 i32 7, u8 u32 7, i16 i32 15, u16 u32 15
FN v$L shr_$T(v$L x, v$L n) { return x >> (n & $END); }

//: T L ONES = i8 i32 0xff, u8 u32 0xff, i16 i32 0xffff, u16 u32 0xffff
FN v$L popcount_$T(v$L x) { return popcount_$L(x & $ONES); }

//: T L ONES ABOVE = i8 i32 0xff 24, u8 u32 0xff 24, i16 i32 0xffff 16, u16 u32 0xffff 16
FN v$L leading_zeros_$T(v$L x) { return leading_zeros_$L(x & $ONES) - $ABOVE; }

//: T L END = i8 i32 0x100, u8 u32 0x100, i16 i32 0x10000, u16 u32 0x10000
FN v$L trailing_zeros_$T(v$L x) { return trailing_zeros_$L(x | $END); }

//: T L ABOVE = i8 i32 24, u8 u32 24, i16 i32 16, u16 u32 16
FN v$L reverse_bits_$T(v$L x) { return reverse_bits_$L(x) >> $ABOVE; }

// The others need no width but that of the lanes, and a wrap where the smallest integer has no opposite.
//: T L = i8 i32, u8 u32, i16 i32, u16 u32
//: O = rem, min, max
FN v$L $O_$T(v$L a, v$L b) { return $O_$L(a, b); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L div_$T(v$L a, v$L b) { return wrap_$T(div_$L(a, b)); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L abs_$T(v$L x) { return wrap_$T(abs_$L(x)); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L sign_$T(v$L x) { return sign_$L(x); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L clamp_$T(v$L x, v$L low, v$L high) { return clamp_$L(x, low, high); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L fma_$T(v$L a, v$L b, v$L c) { return wrap_$T(a * b + c); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
FN v$L select_$T(vi32 m, v$L a, v$L b) { return select_$L(m, a, b); }

//: T L = i8 i32, u8 u32, i16 i32, u16 u32
//: O = lt, le, gt, ge, eq, ne
FN vi32 $O_$T(v$L a, v$L b) { return $O_$L(a, b); }
