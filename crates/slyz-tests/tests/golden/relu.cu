// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) relu(
    const float* __restrict__ x,
    float* __restrict__ output,
    unsigned N
) {
    const unsigned tid = blockIdx.x * 256 + threadIdx.x;
    if (tid * 4u + 3u < N) {
        unsigned at = tid * 4u;
        const float4 v = *(const float4*)&x[at];
        unsigned at2 = tid * 4u;
        *(float4*)&output[at2] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
    } else {
        for (unsigned i = tid * 4u; i < N; ++i) output[i] = fmaxf(x[i], 0.0f);
    }
}
