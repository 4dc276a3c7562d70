// HIP, as far as generated kernels use it, for a C++ compiler on a CPU: CUDA's words, and those of clang for AMD's GPUs.
#pragma once

#define SHIM_HIP
#include "../cuda.h"

// ---- lanes

inline int __any(int x) { return shim::ballot(x) != 0; }
inline int __all(int x) { return shim::ballot(!x) == 0; }
inline unsigned long long __ballot(int x) { return shim::ballot(x); }
template <class T> inline T __shfl(T x, int lane) { return shim::from_lane(x, lane & (SHIM_LANES - 1)); }
template <class T> inline T __shfl_xor(T x, int mask) { return shim::from_lane(x, shim::lane() ^ mask); }
template <class T> inline T __shfl_up(T x, unsigned delta) { return shim::from_neighbour(x, (int64_t)shim::lane() - delta); }
template <class T> inline T __shfl_down(T x, unsigned delta) { return shim::from_neighbour(x, (int64_t)shim::lane() + delta); }

// Of the lanes in a mask, those before this one: the first 32, and the others.
#define __builtin_amdgcn_mbcnt_lo(mask, sum) ((sum) + __popcll((mask) & ((1ULL << shim::lane()) - 1)))
#define __builtin_amdgcn_mbcnt_hi(mask, sum) ((sum) + __popcll((unsigned long long)(mask) << 32 & ((1ULL << shim::lane()) - 1)))
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_wave_barrier() shim::wait_as(shim::AT_SUBGROUP)

// ---- atomics: threads of a launch take turns

#define __HIP_MEMORY_SCOPE_AGENT 0
#define SHIM_ATOMIC(name, result)                                                                                       \
    template <class T, class U> inline T __hip_atomic_##name(T* at, U given, int, int) {                                \
        T old = *at, x = (T)given;                                                                                      \
        *at = (T)(result);                                                                                              \
        return old;                                                                                                     \
    }
SHIM_ATOMIC(fetch_add, old + x) SHIM_ATOMIC(fetch_sub, old - x) SHIM_ATOMIC(fetch_min, old < x ? old : x)
SHIM_ATOMIC(fetch_max, old > x ? old : x) SHIM_ATOMIC(fetch_and, old & x) SHIM_ATOMIC(fetch_or, old | x) SHIM_ATOMIC(fetch_xor, old ^ x)
SHIM_ATOMIC(exchange, x)
template <class T> inline T __hip_atomic_load(const T* at, int, int) { return *at; }
template <class T> inline void __hip_atomic_store(T* at, T x, int, int) { *at = x; }
template <class T> inline bool __hip_atomic_compare_exchange_strong(T* at, T* expected, T x, int, int, int) {
    bool same = *at == *expected;
    if (same) *at = x; else *expected = *at;
    return same;
}
