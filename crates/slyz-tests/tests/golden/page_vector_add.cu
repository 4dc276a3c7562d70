// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) vectorAdd(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ result,
    unsigned threads_x,
    unsigned a_len,
    unsigned b_len,
    unsigned result_len
) {
    const unsigned tid_x = blockIdx.x * 256 + threadIdx.x;
    if (tid_x < threads_x && tid_x < result_len) {
        result[tid_x] = (tid_x < a_len ? a[tid_x] : 0.0f) + (tid_x < b_len ? b[tid_x] : 0.0f);
    }
}
