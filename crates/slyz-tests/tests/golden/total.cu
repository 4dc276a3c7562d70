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

extern "C" __global__ void __launch_bounds__(256) total_fold(
    const float* __restrict__ x,
    float* __restrict__ tmp2,
    unsigned N
) {
    __shared__ float part1[8];
    unsigned at = blockIdx.x * 65536u;
    unsigned at2 = min(at + 65536u, N);
    unsigned at3 = min(at + (unsigned)max((int)at2 - (int)at, 0) / 4096u * 4096u, at2);
    float acc = 0.0f;
    for (unsigned i = at; i < at3; i += 4096u) {
        unsigned at4 = i + threadIdx.x * 4u;
        const float4 v = *(const float4*)&x[at4];
        unsigned at5 = at4 + 1024u;
        const float4 v2 = *(const float4*)&x[at5];
        unsigned at6 = at4 + 2048u;
        const float4 v3 = *(const float4*)&x[at6];
        unsigned at7 = at4 + 3072u;
        const float4 v4 = *(const float4*)&x[at7];
        float v5 = v.x + v.y + (v.z + v.w) + (v2.x + v2.y + (v2.z + v2.w)) + (v3.x + v3.y + (v3.z + v3.w) + (v4.x + v4.y + (v4.z + v4.w)));
        acc += v5;
    }
    for (unsigned i = at3 + threadIdx.x; i < at2; i += 256u) acc += x[i];
    float total = warp_add(0.0f + acc);
    if (threadIdx.x % 32u == 0u) part1[threadIdx.x / 32u] = total;
    __syncthreads();
    float x2 = part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
    if (threadIdx.x == 0u) tmp2[blockIdx.x] = x2;
}

extern "C" __global__ void __launch_bounds__(256) total_fold_parts(
    const float* __restrict__ tmp2,
    float* __restrict__ output,
    unsigned N
) {
    __shared__ float part1[8];
    unsigned n = (N + 65535u) / 65536u;
    float acc = 0.0f;
    for (unsigned i = 0u; i < n; i += 131072u) {
        unsigned at = min(i + 131072u, n);
        float acc2 = 0.0f;
        for (unsigned j = i; j < at; j += 32768u) {
            unsigned at2 = min(j + 32768u, at);
            unsigned at3 = min(j + max(at2 - j, 0u) / 2048u * 2048u, at2);
            float acc3 = 0.0f;
            for (unsigned k = j; k < at3; k += 2048u) {
                unsigned at4 = k + threadIdx.x;
                float v = tmp2[at4] + tmp2[at4 + 256u] + (tmp2[at4 + 512u] + tmp2[at4 + 768u]) + (tmp2[at4 + 1024u] + tmp2[at4 + 1280u] + (tmp2[at4 + 1536u] + tmp2[at4 + 1792u]));
                acc3 += v;
            }
            for (unsigned k = at3 + threadIdx.x; k < at2; k += 256u) acc3 += tmp2[k];
            acc2 += acc3;
        }
        acc += acc2;
    }
    float total = warp_add(0.0f + acc);
    if (threadIdx.x % 32u == 0u) part1[threadIdx.x / 32u] = total;
    __syncthreads();
    float x = part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
    if (threadIdx.x == 0u) output[0] = x;
}
