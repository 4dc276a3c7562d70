// Float to integer saturates and takes NaN to 0. Out of range the machine's own conversion means nothing, so only
// lanes in range reach it.
//: A = f32, f64
//: B L LOW END MIN MAX = i8 i32 -128 128 -128 127, u8 u32 0 256 0 255, i16 i32 -32768 32768 -32768 32767, u16 u32 0 65536 0 65535, i32 i32 -0x1p31 0x1p31 (-0x7fffffff-1) 0x7fffffff, u32 u32 0 0x1p32 0 0xffffffff, i64 i64 -0x1p63 0x1p63 (-0x7fffffffffffffff-1) 0x7fffffffffffffff, u64 u64 0 0x1p64 0 0xffffffffffffffff
FN v$L cast_$A_$B(v$A x) {
    vi32 high = ge_$A(x, all_$A($END)), low = lt_$A(x, all_$A($LOW));
    v$A inside = select_$A(high | low | is_nan_$A(x), all_$A(0), x);
    v$L y = __builtin_convertvector(inside, v$L);
    return select_$L(high, all_$L($MAX), select_$L(low, all_$L($MIN), y));
}

//: A = f16, bf16
//: B L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
FN v$L cast_$A_$B(vf32 x) { return cast_f32_$B(x); }

// Integer to integer keeps the low bits.
//: A L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
//: B K = i8 i32, u8 u32, i16 i32, u16 u32
FN v$K cast_$A_$B(v$L x) { return wrap_$B(__builtin_convertvector(x, v$K)); }

//: A L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
//: B = i32, u32, i64, u64
FN v$B cast_$A_$B(v$L x) { return __builtin_convertvector(x, v$B); }

// Integer to float rounds once.
//: A L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
//: B = f32, f64
FN v$B cast_$A_$B(v$L x) { return __builtin_convertvector(x, v$B); }

// What f32 rounds is far outside f16, so rounding twice is rounding once.
//: A L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64
FN vf32 cast_$A_f16(v$L x) { return round_f16(__builtin_convertvector(x, vf32)); }

//: A L = i8 i32, u8 u32, i16 i32, u16 u32
FN vf32 cast_$A_bf16(v$L x) { return round_bf16(__builtin_convertvector(x, vf32)); }

// Bits below those that f32 holds are folded into one: enough to round right the second time.
FN vf32 cast_u32_bf16(vu32 x) {
    vu32 folded = (x & 0xffffff00) | ((vu32)((x & 0xff) != 0) & 0x100);
    vu32 y = select_u32((vi32)(x >> 24 != 0), folded, x);
    return round_bf16(__builtin_convertvector(y, vf32));
}

FN vf32 cast_i32_bf16(vi32 x) {
    vf32 y = cast_u32_bf16((vu32)abs_i32(x));
    return select_f32(x < 0, -y, y);
}

FN vf32 cast_u64_bf16(vu64 x) {
    vu64 folded = (x & 0xfffffffffffff800) | ((vu64)((x & 0x7ff) != 0) & 0x800);
    vu64 y = pick_u64((vi64)(x >> 53 != 0), folded, x);
    return round_bf16(odd_f32(__builtin_convertvector(y, vf64)));
}

FN vf32 cast_i64_bf16(vi64 x) {
    vf32 y = cast_u64_bf16((vu64)abs_i64(x));
    return select_f32(narrow_mask(x < 0), -y, y);
}

FN vf64 cast_f32_f64(vf32 x) { return __builtin_convertvector(x, vf64); }

FN vf32 cast_f64_f32(vf64 x) { return __builtin_convertvector(x, vf32); }

// f64 to f32, inexact results to the neighbour with an odd last bit: rounding that again is rounding once.
FN vf32 odd_f32(vf64 x) {
    vf32 y = __builtin_convertvector(x, vf32);
    vf64 back = __builtin_convertvector(y, vf64);
    vf64 size = (vf64)((vi64)x & 0x7fffffffffffffff), rounded = (vf64)((vi64)back & 0x7fffffffffffffff);
    vi32 up = narrow_mask(rounded > size), down = narrow_mask(rounded < size);
    vi32 bits = (vi32)y, even = (bits & 1) == 0;
    return (vf32)(bits + (even & up) - (even & down));
}

//: T = f16, bf16
FN vf32 cast_f32_$T(vf32 x) { return round_$T(x); }

//: T = f16, bf16
FN vf32 cast_f64_$T(vf64 x) { return round_$T(odd_f32(x)); }

//: T = f16, bf16, f32
FN vf32 cast_$T_f32(vf32 x) { return x; }

FN vf64 cast_f64_f64(vf64 x) { return x; }

//: T = f16, bf16
FN vf64 cast_$T_f64(vf32 x) { return cast_f32_f64(x); }

//: A = f16, bf16
//: B = f16, bf16
FN vf32 cast_$A_$B(vf32 x) { return round_$B(x); }

// A number is true when it is not zero; NaN is not.
//: A L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64
FN vi32 cast_$A_bool(v$L x) { return ne_$L(x, (v$L){0}); }

//: B L = i8 i32, u8 u32, i16 i32, u16 u32, i32 i32, u32 u32, i64 i64, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64
FN v$L cast_bool_$B(vi32 m) { return __builtin_convertvector(m & 1, v$L); }

FN vi32 cast_bool_bool(vi32 m) { return m; }

// f16 is its bits moved up and the exponent rebased by a product, which also normalises the smallest numbers.
FN vf32 f16_from_bits(vu32 h) {
    vu32 size = (h & 0x7fff) << 13;
    vu32 y = (vu32)((vf32)size * 0x1p112f);
    y = select_u32((vi32)(size >= 0x0f800000), size | 0x7f800000, y);
    return (vf32)(y | ((h & 0x8000) << 16));
}

FN vu32 f16_to_bits(vf32 x) {
    vi32 bits = (vi32)x, size = bits & 0x7fffffff;
    vi32 normal = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
    vi32 small = (vi32)((vf32)size + 0.5f) - 0x3f000000; // the adder rounds
    vi32 y = select_i32(size < 0x38800000, small, normal);
    y = select_i32(size >= 0x477ff000, all_i32(0x7c00), y);
    vi32 payload = (size >> 13) & 0x3ff; // of a NaN, which must not become an infinity
    y = select_i32(size > 0x7f800000, 0x7c00 | payload | ((payload == 0) & 0x200), y);
    return (vu32)y | ((vu32)bits >> 16 & 0x8000);
}

FN vf32 bf16_from_bits(vu32 h) { return (vf32)(h << 16); }

FN vu32 bf16_to_bits(vf32 x) {
    vu32 bits = (vu32)x;
    vu32 y = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    vu32 nan = bits >> 16;
    return select_u32(x != x, nan | ((vu32)((nan & 0x7f) == 0) & 0x40), y);
}

//: T = f16, bf16
FN vf32 round_$T(vf32 x) { return $T_from_bits($T_to_bits(x)); }

// Bit casts of narrow types.
FN vu32 bits_i8_u8(vi32 x) { return wrap_u8((vu32)x); }

FN vi32 bits_u8_i8(vu32 x) { return wrap_i8((vi32)x); }

FN vu32 bits_i16_u16(vi32 x) { return wrap_u16((vu32)x); }

FN vi32 bits_u16_i16(vu32 x) { return wrap_i16((vi32)x); }

//: T = f16, bf16
FN vu32 bits_$T_u16(vf32 x) { return $T_to_bits(x); }

//: T = f16, bf16
FN vi32 bits_$T_i16(vf32 x) { return wrap_i16((vi32)$T_to_bits(x)); }

//: T = f16, bf16
FN vf32 bits_u16_$T(vu32 x) { return $T_from_bits(x); }

//: T = f16, bf16
FN vf32 bits_i16_$T(vi32 x) { return $T_from_bits((vu32)x & 0xffff); }

//: A B = f16 bf16, bf16 f16
FN vf32 bits_$A_$B(vf32 x) { return $B_from_bits($A_to_bits(x)); }
