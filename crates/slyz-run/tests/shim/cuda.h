// CUDA C++, as far as generated kernels use it, for a C++ compiler on a CPU. HIP is the same with other words for what lanes exchange.
//
// `SHIM_LANES` says how many lanes a warp has. `SHIM_KERNEL(name)` makes a C function `launch_name` that launches a kernel of the text;
// `SHIM_LARGE_KERNEL(name, bytes)` does for one that is given shared memory when it is launched.
#pragma once

#include "fibers.h"

#ifndef SHIM_LANES
#define SHIM_LANES 32
#endif

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
// All shared memories of a library are beside each other, so that a block can begin with ones in them.
#define __shared__ static __attribute__((section("shim_shared")))
#define __align__(n) __attribute__((aligned(n)))
#define threadIdx (shim::here().lid)
#define blockIdx (shim::here().gid)
#define gridDim (shim::here().groups)
#define blockDim (shim::here().block)

// What a launch gives, behind which there must be nothing.
static const size_t SHIM_MOST_SHARED = 227 << 10;
alignas(16) static unsigned char shared_memory[SHIM_MOST_SHARED];

extern "C" char __start_shim_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_shim_shared[] __attribute__((weak, visibility("hidden")));

#define SHIM_VECTOR(Name, T)                                                                                            \
    struct alignas(2 * sizeof(T)) Name##2 { T x, y; };                                                                  \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) Name##4 { T x, y, z, w; };                                  \
    inline Name##2 make_##Name##2(T x, T y) { return {x, y}; }                                                          \
    inline Name##4 make_##Name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SHIM_VECTOR(float, float) SHIM_VECTOR(int, int) SHIM_VECTOR(uint, uint) SHIM_VECTOR(ushort, ushort)
SHIM_VECTOR(double, double) SHIM_VECTOR(longlong, long long) SHIM_VECTOR(ulonglong, unsigned long long)

// ---- numbers and their bits

inline float __int_as_float(int x) { return shim::bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return shim::bits_as<float>(x); }
inline int __float_as_int(float x) { return shim::bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return shim::bits_as<unsigned>(x); }
inline double __longlong_as_double(long long x) { return shim::bits_as<double>(x); }
inline long long __double_as_longlong(double x) { return shim::bits_as<long long>(x); }

inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long y = 0;
    for (int k = 0; k < 64; ++k) y |= (x >> k & 1) << (63 - k);
    return y;
}
inline unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }

// ---- mathematics is the C library's

#define SHIM_MATH(name)                                                                                                 \
    extern "C" double name(double);                                                                                     \
    extern "C" float name##f(float);
#define SHIM_MATH_2(name)                                                                                               \
    extern "C" double name(double, double);                                                                             \
    extern "C" float name##f(float, float);
SHIM_MATH(fabs) SHIM_MATH(floor) SHIM_MATH(ceil) SHIM_MATH(round) SHIM_MATH(rint) SHIM_MATH(nearbyint) SHIM_MATH(trunc) SHIM_MATH(sqrt)
SHIM_MATH(cbrt) SHIM_MATH(exp) SHIM_MATH(exp2) SHIM_MATH(expm1) SHIM_MATH(log) SHIM_MATH(log2) SHIM_MATH(log10) SHIM_MATH(log1p)
SHIM_MATH(sin) SHIM_MATH(cos) SHIM_MATH(tan) SHIM_MATH(asin) SHIM_MATH(acos) SHIM_MATH(atan) SHIM_MATH(sinh) SHIM_MATH(cosh)
SHIM_MATH(tanh) SHIM_MATH(asinh) SHIM_MATH(acosh) SHIM_MATH(atanh) SHIM_MATH(erf) SHIM_MATH(erfc) SHIM_MATH(tgamma) SHIM_MATH(lgamma)
SHIM_MATH_2(fmod) SHIM_MATH_2(pow) SHIM_MATH_2(atan2) SHIM_MATH_2(hypot) SHIM_MATH_2(copysign) SHIM_MATH_2(fmin) SHIM_MATH_2(fmax)
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
extern "C" long double erfl(long double);
extern "C" long double expl(long double);
namespace shim {
const double PI = 3.14159265358979323846;
// The sine of a half turn, taken apart so that whole turns cost nothing.
inline double sine_of_turns(double x, double shift) {
    double rest = fmod(x, 2.0), quarters = round(2.0 * rest);
    double small = (rest - quarters / 2.0) * PI;
    switch (((int)quarters + (int)shift + 8) % 4) {
    case 0: return sin(small);
    case 1: return cos(small);
    case 2: return -sin(small);
    default: return -cos(small);
    }
}
// Newton's method on the error function.
inline double inverse_error(double x) {
    if (!(fabs(x) < 1.0)) return fabs(x) == 1.0 ? x / 0.0 : __builtin_nan("");
    double w = log((1.0 - x) * (1.0 + x)), first = 2.0 / (PI * 0.147) + w / 2.0;
    long double y = copysign(sqrt(sqrt(first * first - w / 0.147) - first), x);
    for (int k = 0; k < 4; ++k) y -= (erfl(y) - x) * 0.886226925452758013649L * expl(y * y);
    return x == 0.0 ? x : (double)y;
}
} // namespace shim
inline double sinpi(double x) { return x == 0.0 ? x : shim::sine_of_turns(x, 0); }
inline double cospi(double x) { return shim::sine_of_turns(x, 1); }
inline double erfinv(double x) { return shim::inverse_error(x); }
inline float sinpif(float x) { return (float)sinpi(x); }
inline float cospif(float x) { return (float)cospi(x); }
inline float erfinvf(float x) { return (float)erfinv(x); }
template <class T> inline bool isnan(T x) { return x != x; }
template <class T> inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> inline bool signbit(T x) { return __builtin_signbit(x); }
template <class A, class B> inline auto min(A a, B b) -> decltype(a + b) { return b < a ? b : a; }
template <class A, class B> inline auto max(A a, B b) -> decltype(a + b) { return a < b ? b : a; }

// ---- barriers, fences

inline void __syncthreads() { shim::wait_as(shim::AT_BARRIER); }
inline void __threadfence() {}
inline void __threadfence_block() {}

// ---- kernels

namespace shim {

template <int... K> struct Numbers {};
template <int N, int... K> struct UpTo : UpTo<N - 1, N - 1, K...> {};
template <int... K> struct UpTo<0, K...> { typedef Numbers<K...> All; };

// Calls a kernel with arguments that lie where the pointers say.
template <class... A, int... K> inline void call(void (*kernel)(A...), void* const* arguments, Numbers<K...>) {
    kernel(*(A*)arguments[K]...);
}
template <class... A> inline void call(void (*kernel)(A...), void* const* arguments) {
    call(kernel, arguments, typename UpTo<sizeof...(A)>::All());
}

static int launch_blocks(Code code, void* const* arguments, const uint* grid, const uint* block, bool meets) {
    void* shared = __start_shim_shared;
    size_t bytes = __stop_shim_shared - __start_shim_shared;
    return run({code, arguments, grid, block, false, meets, SHIM_LANES, bytes != 0, &shared, &bytes});
}

static int launch_large_blocks(Code code, void* const* arguments, const uint* grid, const uint* block, bool meets, size_t bytes) {
    if (bytes > SHIM_MOST_SHARED) return 1;
    __builtin_memset(shared_memory, 0, SHIM_MOST_SHARED);
    void* shared = shared_memory;
    int failed = run({code, arguments, grid, block, false, meets, SHIM_LANES, 1, &shared, &bytes});
    for (size_t k = bytes; k < SHIM_MOST_SHARED; ++k) failed |= shared_memory[k] != 0;
    return failed;
}

} // namespace shim

#define SHIM_KERNEL(name)                                                                                               \
    static void thread_of_##name(const void* arguments) { shim::call(name, (void* const*)arguments); }                  \
    extern "C" __attribute__((visibility("default"))) int launch_##name(                                                \
        void* const* arguments, const uint* grid, const uint* block, bool meets) {                                      \
        return shim::launch_blocks(thread_of_##name, arguments, grid, block, meets);                                    \
    }
#define SHIM_LARGE_KERNEL(name, bytes)                                                                                  \
    static void thread_of_##name(const void* arguments) { shim::call(name, (void* const*)arguments); }                  \
    extern "C" __attribute__((visibility("default"))) int launch_##name(                                                \
        void* const* arguments, const uint* grid, const uint* block, bool meets) {                                      \
        return shim::launch_large_blocks(thread_of_##name, arguments, grid, block, meets, bytes);                       \
    }

#ifndef SHIM_HIP

// ---- what is NVIDIA's own

namespace shim {
// Products of bytes, those of the first without a sign.
inline int dot4(int a, int b, int c) {
    for (int k = 0; k < 4; ++k) c += (int)(uchar)(a >> 8 * k) * (int)(signed char)(b >> 8 * k);
    return c;
}
// Rounds towards zero, where the machine rounds to the nearest.
inline double towards_zero(double near, bool is_past) { return is_past ? bits_as<double>(bits_as<long long>(near) - 1) : near; }
} // namespace shim
inline double __ull2double_rz(unsigned long long x) {
    double near = (double)x;
    return shim::towards_zero(near, near >= 0x1p64 || (unsigned long long)near > x);
}
inline double __ll2double_rz(long long x) {
    double size = __ull2double_rz(x < 0 ? 0ULL - (unsigned long long)x : x);
    return x < 0 ? -size : size;
}
inline float __double2float_rz(double x) {
    float near = (float)x;
    return fabs((double)near) > fabs(x) ? __uint_as_float(__float_as_uint(near) - 1) : near;
}

inline unsigned __activemask() { return (unsigned)shim::active_lanes(); }
inline void __syncwarp() { shim::wait_as(shim::AT_SUBGROUP); }
inline int __any_sync(unsigned, int x) { return shim::ballot(x) != 0; }
inline int __all_sync(unsigned, int x) { return shim::ballot(!x) == 0; }
inline unsigned __ballot_sync(unsigned, int x) { return (unsigned)shim::ballot(x); }
template <class T> inline T __shfl_sync(unsigned, T x, int lane) { return shim::from_lane(x, lane & 31); }
template <class T> inline T __shfl_xor_sync(unsigned, T x, int mask) { return shim::from_lane(x, shim::lane() ^ mask); }
template <class T> inline T __shfl_up_sync(unsigned, T x, unsigned delta) { return shim::from_neighbour(x, (int64_t)shim::lane() - delta); }
template <class T> inline T __shfl_down_sync(unsigned, T x, unsigned delta) { return shim::from_neighbour(x, (int64_t)shim::lane() + delta); }

// Ten bits of the mantissa count.
namespace shim {
inline float from_tf32(uint word) { return from_bits(word & 0xffffe000); }
// What lanes hold of two matrices of words, multiplied and added to what they hold of the sums.
template <int IN_WORD, class Number>
inline float4 mma(uint a, uint b, uint c, uint d, uint x, uint y, float4 sums, Number number) {
    const int group = lane() / 4, column = lane() % 4 * 2;
    const uint left[4] = {a, b, c, d}, right[2] = {x, y};
    double totals[4] = {sums.x, sums.y, sums.z, sums.w};
    for (int upper = 0; upper < 2; ++upper)
        for (int t = 0; t < 4; ++t) {
            uint rows[2], columns[2];
            for (int k = 0; k < 2; ++k) rows[k] = from_lane(left[k + 2 * upper], 4 * group + t);
            for (int k = 0; k < 2; ++k) columns[k] = from_lane(right[upper], 4 * (column + k) + t);
            for (int i = 0; i < 4; ++i)
                for (int k = 0; k < IN_WORD; ++k) {
                    const int low = 16 * k;
                    const uint mask = IN_WORD == 2 ? 0xffff : 0xffffffff;
                    totals[i] += (double)number(rows[i / 2] >> low & mask) * (double)number(columns[i % 2] >> low & mask);
                }
        }
    return {(float)totals[0], (float)totals[1], (float)totals[2], (float)totals[3]};
}
// What lanes get of rows that they name: words, or columns.
inline uint4 load_fragment(const uint* row) {
    uint words[4];
    for (int matrix = 0; matrix < 4; ++matrix) words[matrix] = ((const uint*)from_lane((uintptr_t)row, 8 * matrix + lane() / 4))[lane() % 4];
    return {words[0], words[1], words[2], words[3]};
}
inline uint4 load_turned(const uint* row) {
    const int place = lane() / 4, first = lane() % 4 * 2;
    uint columns[4];
    for (int matrix = 0; matrix < 4; ++matrix) {
        uint halves[2];
        for (int k = 0; k < 2; ++k) {
            const uint* named = (const uint*)from_lane((uintptr_t)row, 8 * matrix + first + k);
            halves[k] = named[place / 2] >> 16 * (place % 2) & 0xffff;
        }
        columns[matrix] = halves[0] | halves[1] << 16;
    }
    return {columns[0], columns[1], columns[2], columns[3]};
}
} // namespace shim

// Threads of a launch take turns.
#define SHIM_ATOMIC(name, result)                                                                                       \
    template <class T, class U> inline T atomic##name(T* at, U given) {                                                 \
        T old = *at, x = (T)given;                                                                                      \
        *at = (T)(result);                                                                                              \
        return old;                                                                                                     \
    }
SHIM_ATOMIC(Add, old + x) SHIM_ATOMIC(Sub, old - x) SHIM_ATOMIC(Min, old < x ? old : x) SHIM_ATOMIC(Max, old > x ? old : x)
SHIM_ATOMIC(And, old & x) SHIM_ATOMIC(Or, old | x) SHIM_ATOMIC(Xor, old ^ x) SHIM_ATOMIC(Exch, x)
template <class T, class U, class V> inline T atomicCAS(T* at, U expected, V x) {
    T old = *at;
    if (old == (T)expected) *at = (T)x;
    return old;
}

#endif
