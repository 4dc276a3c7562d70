// Positions have 32 bits: arrays have fewer than 2^31 elements.

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

template <typename T> __device__ inline T warp_add(T x) { return warp_reduce(x, [](T a, T b) { return a + b; }); }

extern "C" __global__ void __launch_bounds__(256) softmax(
    const float* __restrict__ x,
    float* __restrict__ output,
    unsigned N,
    unsigned M
) {
    __shared__ float parts[8];
    unsigned stride = min(N, 2147483647u);
    for (unsigned i = blockIdx.x; i < N; i += stride) {
        float largest = -__int_as_float(0x7f800000);
        for (unsigned j = threadIdx.x; j < M; j += 1024u) {
            if (j + 768u < M) {
                float v = fmaxf(fmaxf(x[i * M + j], x[i * M + (j + 256u)]), fmaxf(x[i * M + (j + 512u)], x[i * M + (j + 768u)]));
                largest = fmaxf(largest, v);
            } else {
                for (unsigned k = j; k < M; k += 256u) largest = fmaxf(largest, x[i * M + k]);
            }
        }
        for (unsigned apart = 1u; apart < 32u; apart *= 2u) {
            float other = __shfl_down_sync(__activemask(), largest, apart);
            largest = fmaxf(largest, other);
        }
        unsigned group = threadIdx.x / 32u;
        bool first = threadIdx.x % 32u == 0u;
        __syncthreads();
        if (first) parts[group] = largest;
        __syncthreads();
        float v2 = fmaxf(fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3])), fmaxf(fmaxf(parts[4], parts[5]), fmaxf(parts[6], parts[7])));
        float sum = 0.0f;
        for (unsigned j = threadIdx.x; j < M; j += 1024u) {
            if (j + 768u < M) {
                float v3 = __expf(x[i * M + j] - v2) + __expf(x[i * M + (j + 256u)] - v2) + (__expf(x[i * M + (j + 512u)] - v2) + __expf(x[i * M + (j + 768u)] - v2));
                sum += v3;
            } else {
                for (unsigned k = j; k < M; k += 256u) sum += __expf(x[i * M + k] - v2);
            }
        }
        float total = warp_add(sum);
        __syncthreads();
        if (first) parts[group] = total;
        __syncthreads();
        float v4 = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
        for (unsigned j = threadIdx.x; j < M; j += 1024u) {
            if (j + 768u < M) {
                output[i * M + j] = __expf(x[i * M + j] - v2) / v4;
                output[i * M + (j + 256u)] = __expf(x[i * M + (j + 256u)] - v2) / v4;
                output[i * M + (j + 512u)] = __expf(x[i * M + (j + 512u)] - v2) / v4;
                output[i * M + (j + 768u)] = __expf(x[i * M + (j + 768u)] - v2) / v4;
            } else {
                for (unsigned k = j; k < M; k += 256u) output[i * M + k] = __expf(x[i * M + k] - v2) / v4;
            }
        }
    }
}
