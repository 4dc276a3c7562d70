// half_value: a NaN keeps its bits.
__device__ inline float half_value(unsigned short bits) {
    if ((bits & 0x7fffu) > 0x7c00u) {
        return __uint_as_float((bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13);
    }
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// half_number
__device__ inline float half_number(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// half_bits
__device__ inline unsigned short half_bits(float x) {
    const unsigned word = __float_as_uint(x);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
        const unsigned payload = (word >> 13) & 0x3ffu;
        return (unsigned short)((word >> 16 & 0x8000u) | 0x7c00u | (payload == 0 ? 0x200u : payload));
    }
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

// odd_double: what is lost shows in the last bit, so that another rounding sees it.
__device__ inline double odd_double(long long x) {
    const double near = __ll2double_rz(x);
    return (long long)near == x ? near : __longlong_as_double(__double_as_longlong(near) | 1);
}
__device__ inline double odd_double(unsigned long long x) {
    const double near = __ull2double_rz(x);
    return (unsigned long long)near == x ? near : __longlong_as_double(__double_as_longlong(near) | 1);
}
__device__ inline double odd_double(double x) { return x; }

// odd_float
__device__ inline float odd_float(double x) {
    const float near = __double2float_rz(x);
    return (double)near == x || x != x ? near : __uint_as_float(__float_as_uint(near) | 1u);
}

// dot4
__device__ inline int dot4(int a, int b, int c) {
    int sum;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}

// lane_id
__device__ inline unsigned lane_id() {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

// lanes_below
__device__ inline unsigned lanes_below() { return __popc(__activemask() & ((1u << lane_id()) - 1u)); }

// count_trailing_zeros
__device__ inline unsigned count_trailing_zeros(unsigned x) { return x == 0 ? 32 : __ffs(x) - 1; }

// peek
template <typename T> __device__ inline T peek(const T* at) { return *(const volatile T*)at; }

// warp_reduce
template <typename T, typename F> __device__ inline T warp_reduce(T x, F join) {
    const unsigned active = __activemask();
    if (active == 0xffffffffu) {
        for (int step = 16; step > 0; step /= 2) x = join(x, __shfl_xor_sync(active, x, step));
        return x;
    }
    T total = __shfl_sync(active, x, __ffs(active) - 1);
    for (unsigned rest = active & (active - 1); rest != 0; rest &= rest - 1) {
        total = join(total, __shfl_sync(active, x, __ffs(rest) - 1));
    }
    return total;
}

// warp_scan
template <typename T, typename F> __device__ inline T warp_scan(T x, F join) {
    const unsigned active = __activemask();
    const unsigned lane = lane_id();
    if (active == 0xffffffffu) {
        for (unsigned step = 1; step < 32; step *= 2) {
            const T before = __shfl_up_sync(active, x, step);
            if (lane >= step) x = join(before, x);
        }
        return x;
    }
    T total = x;
    bool first = true;
    for (unsigned rest = active; rest != 0; rest &= rest - 1) {
        const unsigned other = __ffs(rest) - 1;
        const T value = __shfl_sync(active, x, other);
        if (other > lane) continue;
        total = first ? value : join(total, value);
        first = false;
    }
    return total;
}
