// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) saxpy(
    const float* __restrict__ x,
    const float* __restrict__ y,
    float* __restrict__ out,
    unsigned threads_x,
    unsigned x_len,
    unsigned y_len,
    unsigned out_len,
    float a
) {
    const unsigned tid_x = blockIdx.x * 256 + threadIdx.x;
    if (tid_x < threads_x && tid_x < out_len) {
        out[tid_x] = a * (tid_x < x_len ? x[tid_x] : 0.0f) + (tid_x < y_len ? y[tid_x] : 0.0f);
    }
}
