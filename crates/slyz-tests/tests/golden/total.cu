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
    __shared__ float parts[8];
    unsigned end = min(blockIdx.x * 65536u + 65536u, N);
    unsigned end2 = min(blockIdx.x * 65536u + (unsigned)max((int)end - (int)(blockIdx.x * 65536u), 0) / 4096u * 4096u, end);
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * 65536u; i < end2; i += 4096u) {
        unsigned at = i + threadIdx.x * 4u;
        const float4 v = *(const float4*)&x[at];
        unsigned at2 = at + 1024u;
        const float4 v2 = *(const float4*)&x[at2];
        unsigned at3 = at + 2048u;
        const float4 v3 = *(const float4*)&x[at3];
        unsigned at4 = at + 3072u;
        const float4 v4 = *(const float4*)&x[at4];
        float v5 = v.x + v.y + (v.z + v.w) + (v2.x + v2.y + (v2.z + v2.w)) + (v3.x + v3.y + (v3.z + v3.w) + (v4.x + v4.y + (v4.z + v4.w)));
        sum += v5;
    }
    for (unsigned i = end2 + threadIdx.x; i < end; i += 256u) sum += x[i];
    float total = warp_add(sum);
    if (threadIdx.x % 32u == 0u) parts[threadIdx.x / 32u] = total;
    __syncthreads();
    float x2 = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
    if (threadIdx.x == 0u) tmp2[blockIdx.x] = x2;
}

extern "C" __global__ void __launch_bounds__(256) total_fold_parts(
    const float* __restrict__ tmp2,
    float* __restrict__ output,
    unsigned N
) {
    __shared__ float parts[8];
    unsigned end = (N + 65535u) / 65536u;
    unsigned end2 = min(max(end, 0u) / 2048u * 2048u, end);
    float sum = 0.0f;
    for (unsigned i = 0u; i < end2; i += 2048u) {
        unsigned at = i + threadIdx.x;
        float v = tmp2[at] + tmp2[at + 256u] + (tmp2[at + 512u] + tmp2[at + 768u]) + (tmp2[at + 1024u] + tmp2[at + 1280u] + (tmp2[at + 1536u] + tmp2[at + 1792u]));
        sum += v;
    }
    for (unsigned i = end2 + threadIdx.x; i < end; i += 256u) sum += tmp2[i];
    float total = warp_add(sum);
    if (threadIdx.x % 32u == 0u) parts[threadIdx.x / 32u] = total;
    __syncthreads();
    float x = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
    if (threadIdx.x == 0u) output[0] = x;
}
