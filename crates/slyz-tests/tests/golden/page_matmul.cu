// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) matmulKernel(
    const float* __restrict__ A,
    const float* __restrict__ B,
    float* __restrict__ C,
    unsigned threads_x,
    unsigned threads_y,
    unsigned A_len,
    unsigned B_len,
    unsigned C_len,
    int M,
    int N,
    int K
) {
    const unsigned tid_x = blockIdx.x * 16 + threadIdx.x;
    const unsigned tid_y = blockIdx.y * 16 + threadIdx.y;
    if (tid_x < threads_x && tid_y < threads_y) {
        if ((long long)tid_y < (long long)M && (long long)tid_x < (long long)N) {
            long long at = (long long)tid_y * (long long)K;
            float sum = 0.0f;
            for (int k = 0; k < K; ++k) {
                long long at2 = at + k;
                long long at3 = (long long)k * (long long)N + tid_x;
                sum += (at2 >= 0LL && at2 < A_len ? A[at2] : 0.0f) * (at3 < B_len ? B[at3] : 0.0f);
            }
            long long at4 = (long long)tid_y * (long long)N + tid_x;
            if (at4 < C_len) C[at4] = sum;
        }
    }
}
