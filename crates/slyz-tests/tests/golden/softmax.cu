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
    __shared__ float part1[8];
    unsigned stride = min(N, 2147483647u);
    for (unsigned i = blockIdx.x; i < N; i += stride) {
        float acc = -__int_as_float(0x7f800000);
        for (unsigned j = threadIdx.x; j < M; j += 1024u) {
            unsigned at = j + 768u;
            if (at < M) {
                float v = fmaxf(acc, fmaxf(fmaxf(x[i * M + j], x[i * M + (j + 256u)]), fmaxf(x[i * M + (j + 512u)], x[i * M + at])));
                acc = v;
            } else {
                for (unsigned k = j; k < M; k += 256u) acc = fmaxf(acc, x[i * M + k]);
            }
        }
        unsigned s = 1u;
        while (s < 32u) {
            float other = __shfl_down_sync(__activemask(), acc, s);
            s *= 2u;
            acc = fmaxf(acc, other);
        }
        unsigned at2 = threadIdx.x / 32u;
        bool is = threadIdx.x % 32u == 0u;
        __syncthreads();
        if (is) part1[at2] = acc;
        __syncthreads();
        float v2 = fmaxf(fmaxf(fmaxf(part1[0], part1[1]), fmaxf(part1[2], part1[3])), fmaxf(fmaxf(part1[4], part1[5]), fmaxf(part1[6], part1[7])));
        float acc2 = 0.0f;
        for (unsigned j = 0u; j < M; j += 65536u) {
            unsigned at3 = min(j + 65536u, M);
            float acc3 = 0.0f;
            for (unsigned k = j + threadIdx.x; k < at3; k += 65536u) {
                unsigned at4 = min(k + 65536u, at3);
                float acc4 = 0.0f;
                for (unsigned l = k; l < at4; l += 16384u) {
                    unsigned at5 = min(l + 16384u, at4);
                    float acc5 = 0.0f;
                    for (unsigned i2 = l; i2 < at5; i2 += 1024u) {
                        unsigned at6 = i2 + 768u;
                        if (at6 < at5) {
                            float v3 = __expf(x[i * M + i2] - v2) + __expf(x[i * M + (i2 + 256u)] - v2) + (__expf(x[i * M + (i2 + 512u)] - v2) + __expf(x[i * M + at6] - v2));
                            acc5 += v3;
                        } else {
                            for (unsigned i3 = i2; i3 < at5; i3 += 256u) acc5 += __expf(x[i * M + i3] - v2);
                        }
                    }
                    acc4 += acc5;
                }
                acc3 += acc4;
            }
            float total = warp_add(acc3);
            __syncthreads();
            if (is) part1[at2] = total;
            __syncthreads();
            acc2 += part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
        }
        for (unsigned j = threadIdx.x; j < M; j += 1024u) {
            unsigned at7 = j + 256u;
            unsigned at8 = j + 512u;
            unsigned at9 = j + 768u;
            if (at9 < M) {
                output[i * M + j] = __expf(x[i * M + j] - v2) / acc2;
                output[i * M + at7] = __expf(x[i * M + at7] - v2) / acc2;
                output[i * M + at8] = __expf(x[i * M + at8] - v2) / acc2;
                output[i * M + at9] = __expf(x[i * M + at9] - v2) / acc2;
            } else {
                for (unsigned k = j; k < M; k += 256u) {
                    output[i * M + k] = __expf(x[i * M + k] - v2) / acc2;
                }
            }
        }
    }
}
