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
    unsigned at = threadIdx.y * 16u;
    unsigned at2 = at + threadIdx.x;
    long long at3 = (unsigned long long)row * (unsigned long long)K;
    float sum = 0.0f;
    int end = K / 16;
    for (int tile = 0; tile < end; ++tile) {
        unsigned at4 = (unsigned)tile * 16u;
        long long at5 = (unsigned long long)at3 + (unsigned long long)at4 + (unsigned long long)threadIdx.x;
        As[at2] = at5 >= 0LL && at5 < A_len ? A[at5] : 0.0f;
        long long at6 = (long long)(at4 + threadIdx.y) * (long long)N + col;
        Bs[at2] = at6 >= 0LL && at6 < B_len ? B[at6] : 0.0f;
        __syncthreads();
        for (unsigned k = 0u; k < 16u; ++k) sum += As[at + k] * Bs[k * 16u + threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) {
        long long at7 = (long long)((unsigned long long)row * (unsigned long long)N) + col;
        if (at7 < C_len) C[at7] = sum;
    }
}
