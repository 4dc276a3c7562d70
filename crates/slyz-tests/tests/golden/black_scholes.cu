// Positions have 32 bits: arrays have fewer than 2^31 elements.

__device__ inline float normcdf2(float x) {
    float v = fabsf(x);
    float v2 = 1.0f / (1.0f + 0.2316419f * v);
    float v3 = fmaf(fmaf(fmaf(fmaf(1.3302745f, v2, -1.821256f), v2, 1.7814779f), v2, -0.35656378f), v2, 0.31938154f);
    float v4 = 1.0f - 0.3989423f * __expf(-v * v / 2.0f) * fmaf(v3, v2, 0.0f);
    return x < 0.0f ? 1.0f - v4 : v4;
}

extern "C" __global__ void __launch_bounds__(256) black_scholes(
    const float* __restrict__ s,
    const float* __restrict__ x,
    const float* __restrict__ t,
    float* __restrict__ output,
    unsigned N
) {
    const unsigned tid = blockIdx.x * 256 + threadIdx.x;
    unsigned start = tid * 4u;
    if (start + 3u < N) {
        const float4 v = *(const float4*)&s[start];
        const float4 v2 = *(const float4*)&x[start];
        const float4 v3 = *(const float4*)&t[start];
        float v4 = 0.3f * sqrtf(v3.x);
        float v5 = (__logf(v.x / v2.x) + 0.065f * v3.x) / v4;
        float v6 = 0.3f * sqrtf(v3.y);
        float v7 = (__logf(v.y / v2.y) + 0.065f * v3.y) / v6;
        float v8 = 0.3f * sqrtf(v3.z);
        float v9 = (__logf(v.z / v2.z) + 0.065f * v3.z) / v8;
        float v10 = 0.3f * sqrtf(v3.w);
        float v11 = (__logf(v.w / v2.w) + 0.065f * v3.w) / v10;
        *(float4*)&output[start] = make_float4(v.x * normcdf2(v5) - v2.x * __expf(-0.02f * v3.x) * normcdf2(v5 - v4), v.y * normcdf2(v7) - v2.y * __expf(-0.02f * v3.y) * normcdf2(v7 - v6), v.z * normcdf2(v9) - v2.z * __expf(-0.02f * v3.z) * normcdf2(v9 - v8), v.w * normcdf2(v11) - v2.w * __expf(-0.02f * v3.w) * normcdf2(v11 - v10));
    } else {
        for (unsigned i = start; i < N; ++i) {
            float s_i = s[i];
            float x_i = x[i];
            float t_i = t[i];
            float v12 = 0.3f * sqrtf(t_i);
            float v13 = (__logf(s_i / x_i) + 0.065f * t_i) / v12;
            output[i] = s_i * normcdf2(v13) - x_i * __expf(-0.02f * t_i) * normcdf2(v13 - v12);
        }
    }
}
