// half_value: a NaN keeps its bits.
__device__ inline float half_value(unsigned short bits) {
    if ((bits & 0x7fffu) > 0x7c00u) {
        return __uint_as_float((bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13);
    }
    return (float)__builtin_bit_cast(_Float16, bits);
}

// half_bits
__device__ inline unsigned short half_bits(float x) {
    const unsigned word = __float_as_uint(x);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
        const unsigned payload = (word >> 13) & 0x3ffu;
        return (unsigned short)((word >> 16 & 0x8000u) | 0x7c00u | (payload == 0 ? 0x200u : payload));
    }
    return __builtin_bit_cast(unsigned short, (_Float16)x);
}

// odd_sum: what is lost shows in the last bit, so that another rounding sees it. HIP's conversions all round to the nearest.
__device__ inline double odd_sum(double high, double low) {
    const double near = high + low;
    const double lost = low - (near - high);
    const long long bits = __double_as_longlong(near);
    if (lost == 0.0 || (bits & 1) != 0) return near;
    return __longlong_as_double((lost > 0.0) == (near > 0.0) ? bits + 1 : bits - 1);
}

// odd_double
__device__ inline double odd_double(long long x) { return odd_sum((double)(x >> 32) * 4294967296.0, (double)(x & 0xffffffffLL)); }
__device__ inline double odd_double(unsigned long long x) { return odd_sum((double)(x >> 32) * 4294967296.0, (double)(x & 0xffffffffULL)); }
__device__ inline double odd_double(double x) { return x; }

// odd_float
__device__ inline float odd_float(double x) {
    const float near = (float)x;
    const unsigned bits = __float_as_uint(near);
    if ((double)near == x || x != x || (bits & 1u) != 0) return near;
    return __uint_as_float(fabs((double)near) > fabs(x) ? bits - 1u : bits + 1u);
}

// lane_id
__device__ inline unsigned lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

// active_lanes
__device__ inline unsigned long long active_lanes() { return __ballot(1); }

// first_lane
__device__ inline unsigned first_lane(unsigned long long lanes) { return __builtin_ctzll(lanes); }

// lanes_below
__device__ inline unsigned lanes_below() { return __popcll(active_lanes() & ((1ULL << lane_id()) - 1ULL)); }

// wave_barrier
__device__ inline void wave_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// count_trailing_zeros
__device__ inline unsigned count_trailing_zeros(unsigned x) { return x == 0 ? 32 : __builtin_ctz(x); }

// peek
template <typename T> __device__ inline T peek(const T* at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// swap
template <typename T> __device__ inline T swap(T* at, T expected, T value) {
    __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}

// warp_reduce
template <typename T, typename F> __device__ inline T warp_reduce(T x, F join) {
    const unsigned long long active = active_lanes();
    if (__popcll(active) == WAVE) {
        for (int step = WAVE / 2; step > 0; step /= 2) x = join(x, __shfl_xor(x, step));
        return x;
    }
    T total = __shfl(x, first_lane(active));
    for (unsigned long long rest = active & (active - 1); rest != 0; rest &= rest - 1) {
        total = join(total, __shfl(x, first_lane(rest)));
    }
    return total;
}

// warp_scan
template <typename T, typename F> __device__ inline T warp_scan(T x, F join) {
    const unsigned long long active = active_lanes();
    const unsigned lane = lane_id();
    if (__popcll(active) == WAVE) {
        for (unsigned step = 1; step < WAVE; step *= 2) {
            const T before = __shfl_up(x, step);
            if (lane >= step) x = join(before, x);
        }
        return x;
    }
    T total = x;
    bool first = true;
    for (unsigned long long rest = active; rest != 0; rest &= rest - 1) {
        const unsigned other = first_lane(rest);
        const T value = __shfl(x, other);
        if (other > lane) continue;
        total = first ? value : join(total, value);
        first = false;
    }
    return total;
}
