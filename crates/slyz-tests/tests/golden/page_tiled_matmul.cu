// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) tiledMatmul(
    const float* __restrict__ A,
    const float* __restrict__ B,
    float* __restrict__ C,
    unsigned A_len,
    unsigned B_len,
    unsigned C_len,
    int M,
    int N,
    int K
) {
    __shared__ float As[256];
    __shared__ float Bs[256];
    long long row = blockIdx.y * 16LL + threadIdx.y;
    long long col = blockIdx.x * 16LL + threadIdx.x;
    unsigned at = threadIdx.y * 16u + threadIdx.x;
    long long at2 = (unsigned long long)row * (unsigned long long)K;
    float sum = 0.0f;
    int end = K / 16;
    for (int tile = 0; tile < end; ++tile) {
        unsigned start = (unsigned)tile * 16u;
        long long at3 = (unsigned long long)at2 + (unsigned long long)start + (unsigned long long)threadIdx.x;
        As[at] = at3 >= 0LL && at3 < A_len ? A[at3] : 0.0f;
        long long at4 = (long long)(start + threadIdx.y) * (long long)N + col;
        Bs[at] = at4 >= 0LL && at4 < B_len ? B[at4] : 0.0f;
        __syncthreads();
        for (unsigned k = 0u; k < 16u; ++k) {
            sum += As[threadIdx.y * 16u + k] * Bs[k * 16u + threadIdx.x];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        long long at5 = (long long)((unsigned long long)row * (unsigned long long)N) + col;
        if (at5 < C_len) C[at5] = sum;
    }
}
