// low_half
__device__ inline unsigned short low_half(unsigned word) { return (unsigned short)word; }

// high_half
__device__ inline unsigned short high_half(unsigned word) { return (unsigned short)(word >> 16); }

// bfloat_value
__device__ inline float bfloat_value(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// bfloat_bits
__device__ inline unsigned short bfloat_bits(float x) {
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        const unsigned high = bits >> 16;
        return (unsigned short)((high & 0x7fu) == 0 ? high | 0x40u : high);
    }
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// round_half
__device__ inline float round_half(float x) { return half_value(half_bits(x)); }

// round_bfloat
__device__ inline float round_bfloat(float x) { return bfloat_value(bfloat_bits(x)); }

// warp_add
template <typename T> __device__ inline T warp_add(T x) { return warp_reduce(x, [](T a, T b) { return a + b; }); }

// warp_mul
template <typename T> __device__ inline T warp_mul(T x) { return warp_reduce(x, [](T a, T b) { return a * b; }); }

// warp_min
template <typename T> __device__ inline T warp_min(T x) { return warp_reduce(x, [](T a, T b) { return a < b ? a : b; }); }

// warp_max
template <typename T> __device__ inline T warp_max(T x) { return warp_reduce(x, [](T a, T b) { return a > b ? a : b; }); }

// warp_and
template <typename T> __device__ inline T warp_and(T x) { return warp_reduce(x, [](T a, T b) { return a & b; }); }

// warp_or
template <typename T> __device__ inline T warp_or(T x) { return warp_reduce(x, [](T a, T b) { return a | b; }); }

// warp_xor
template <typename T> __device__ inline T warp_xor(T x) { return warp_reduce(x, [](T a, T b) { return a ^ b; }); }

// warp_scan_add
template <typename T> __device__ inline T warp_scan_add(T x) { return warp_scan(x, [](T a, T b) { return a + b; }); }

// warp_scan_mul
template <typename T> __device__ inline T warp_scan_mul(T x) { return warp_scan(x, [](T a, T b) { return a * b; }); }
