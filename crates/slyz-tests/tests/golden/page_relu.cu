// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) relu(
    const float* __restrict__ input,
    float* __restrict__ output,
    unsigned threads_x,
    unsigned input_len,
    unsigned output_len
) {
    const unsigned tid_x = blockIdx.x * 256 + threadIdx.x;
    if (tid_x < threads_x && tid_x < output_len) {
        output[tid_x] = fmaxf(0.0f, tid_x < input_len ? input[tid_x] : 0.0f);
    }
}
