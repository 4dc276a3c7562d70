// redux_add
template <typename T> __device__ inline T redux_add(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(__activemask(), x);
#else
    return warp_add(x);
#endif
}

// redux_min
template <typename T> __device__ inline T redux_min(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(__activemask(), x);
#else
    return warp_min(x);
#endif
}

// redux_max
template <typename T> __device__ inline T redux_max(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(__activemask(), x);
#else
    return warp_max(x);
#endif
}

// redux_and
template <typename T> __device__ inline T redux_and(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_and_sync(__activemask(), x);
#else
    return warp_and(x);
#endif
}

// redux_or
template <typename T> __device__ inline T redux_or(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(__activemask(), x);
#else
    return warp_or(x);
#endif
}

// redux_xor
template <typename T> __device__ inline T redux_xor(T x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_xor_sync(__activemask(), x);
#else
    return warp_xor(x);
#endif
}
