// Positions have 32 bits: arrays have fewer than 2^31 elements.

__device__ inline float combine(float x, float x2) {
    return x + x2;
}

extern "C" __global__ void __launch_bounds__(256) tiled_reduce(
    const float* __restrict__ input,
    float* __restrict__ partials,
    unsigned height,
    unsigned width,
    unsigned tiles_x
) {
    __shared__ float tile[256];
    const unsigned tid_x = blockIdx.x * 16 + threadIdx.x;
    const unsigned tid_y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y * 16u + threadIdx.x] = tid_x < width && tid_y < height ? input[tid_y * width + tid_x] : 0.0f;
    __syncthreads();
    bool first = threadIdx.x == 0u;
    if (threadIdx.x < 8u) {
        tile[threadIdx.y * 16u + threadIdx.x] = combine(tile[threadIdx.y * 16u + threadIdx.x], tile[threadIdx.y * 16u + (threadIdx.x + 8u)]);
    }
    __syncthreads();
    if (threadIdx.x < 4u) {
        tile[threadIdx.y * 16u + threadIdx.x] = combine(tile[threadIdx.y * 16u + threadIdx.x], tile[threadIdx.y * 16u + (threadIdx.x + 4u)]);
    }
    __syncthreads();
    if (threadIdx.x < 2u) {
        tile[threadIdx.y * 16u + threadIdx.x] = combine(tile[threadIdx.y * 16u + threadIdx.x], tile[threadIdx.y * 16u + (threadIdx.x + 2u)]);
    }
    __syncthreads();
    if (threadIdx.x < 1u) {
        tile[threadIdx.y * 16u + threadIdx.x] = combine(tile[threadIdx.y * 16u + threadIdx.x], tile[threadIdx.y * 16u + (threadIdx.x + 1u)]);
    }
    __syncthreads();
    if (first && threadIdx.y < 8u) {
        tile[threadIdx.y * 16u] = combine(tile[threadIdx.y * 16u], tile[(threadIdx.y + 8u) * 16u]);
    }
    __syncthreads();
    if (first && threadIdx.y < 4u) {
        tile[threadIdx.y * 16u] = combine(tile[threadIdx.y * 16u], tile[(threadIdx.y + 4u) * 16u]);
    }
    __syncthreads();
    if (first && threadIdx.y < 2u) {
        tile[threadIdx.y * 16u] = combine(tile[threadIdx.y * 16u], tile[(threadIdx.y + 2u) * 16u]);
    }
    __syncthreads();
    if (first && threadIdx.y < 1u) {
        tile[threadIdx.y * 16u] = combine(tile[threadIdx.y * 16u], tile[(threadIdx.y + 1u) * 16u]);
    }
    __syncthreads();
    if (first && threadIdx.y == 0u) partials[blockIdx.y * tiles_x + blockIdx.x] = tile[0];
}
