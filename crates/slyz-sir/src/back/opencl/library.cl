// double
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// atom_cmpxchg
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

// atom_add
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

// atom_sub
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

// atom_xchg
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

// atom_min
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// atom_max
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// atom_and
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// atom_or
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// atom_xor
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// half_value: a NaN keeps its bits.
static inline float half_value(ushort bits) {
    const uint sign = (bits & 0x8000u) << 16;
    const uint size = bits & 0x7fffu;
    if (size >= 0x7c00u) return as_float(sign | 0x7f800000u | (size & 0x3ffu) << 13);
    if (size >= 0x400u) return as_float(sign | ((size << 13) + 0x38000000u));
    return as_float(sign | as_uint((float)size * 0x1p-24f));
}

// half_bits
static inline ushort half_bits(float x) {
    const uint word = as_uint(x);
    const uint sign = word >> 16 & 0x8000u;
    const uint size = word & 0x7fffffffu;
    if (size > 0x7f800000u) {
        const uint payload = word >> 13 & 0x3ffu;
        return (ushort)(sign | 0x7c00u | (payload == 0 ? 0x200u : payload));
    }
    if (size >= 0x477ff000u) return (ushort)(sign | 0x7c00u);
    if (size >= 0x38800000u) return (ushort)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
    return (ushort)(sign | (as_uint(as_float(size) + 0.5f) - 0x3f000000u));
}

// bfloat_value
static inline float bfloat_value(ushort bits) { return as_float((uint)bits << 16); }

// bfloat_bits
static inline ushort bfloat_bits(float x) {
    const uint bits = as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        const uint high = bits >> 16;
        return (ushort)((high & 0x7fu) == 0 ? high | 0x40u : high);
    }
    return (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// odd_long: what is lost shows in the last bit, so that another rounding sees it.
static inline float odd_long(long x) {
    const float near = convert_float_rtz(x);
    return (long)near == x ? near : as_float(as_uint(near) | 1u);
}

// odd_ulong
static inline float odd_ulong(ulong x) {
    const float near = convert_float_rtz(x);
    return (ulong)near == x ? near : as_float(as_uint(near) | 1u);
}

// odd_double
static inline float odd_double(double x) {
    const float near = convert_float_rtz(x);
    return (double)near == x || isnan(x) ? near : as_float(as_uint(near) | 1u);
}

// round_half
static inline float round_half(float x) { return half_value(half_bits(x)); }

// round_bfloat
static inline float round_bfloat(float x) { return bfloat_value(bfloat_bits(x)); }

// count_trailing_zeros
static inline uint count_trailing_zeros(uint x) { return popcount(~x & (x - 1u)); }

// reverse_bits
static inline uint reverse_bits(uint x) {
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
    return x << 16 | x >> 16;
}
