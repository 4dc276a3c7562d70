// Positions have 32 bits: arrays have fewer than 2^31 elements.

static inline float normcdf(float x) {
    float v = fabs(x);
    float v2 = 1.0f / (1.0f + 0.2316419f * v);
    float v3 = fma(fma(fma(fma(fma(1.3302745f, v2, -1.821256f), v2, 1.7814779f), v2, -0.35656378f), v2, 0.31938154f), v2, 0.0f);
    float v4 = 1.0f - 0.3989423f * native_exp(-v * v / 2.0f) * v3;
    return x < 0.0f ? 1.0f - v4 : v4;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void black_scholes(
    global const float* restrict s,
    global const float* restrict x,
    global const float* restrict t,
    global float* restrict output,
    uint N
) {
    const uint tid = get_global_id(0);
    uint start = tid * 4u;
    if (start + 3u < N) {
        const float4 v = *(global const float4*)&s[start];
        const float4 v2 = *(global const float4*)&x[start];
        const float4 v3 = *(global const float4*)&t[start];
        float v4 = 0.3f * sqrt(v3.x);
        float v5 = (native_log(v.x / v2.x) + 0.065f * v3.x) / v4;
        float v6 = 0.3f * sqrt(v3.y);
        float v7 = (native_log(v.y / v2.y) + 0.065f * v3.y) / v6;
        float v8 = 0.3f * sqrt(v3.z);
        float v9 = (native_log(v.z / v2.z) + 0.065f * v3.z) / v8;
        float v10 = 0.3f * sqrt(v3.w);
        float v11 = (native_log(v.w / v2.w) + 0.065f * v3.w) / v10;
        *(global float4*)&output[start] = (float4)(v.x * normcdf(v5) - v2.x * native_exp(-0.02f * v3.x) * normcdf(v5 - v4), v.y * normcdf(v7) - v2.y * native_exp(-0.02f * v3.y) * normcdf(v7 - v6), v.z * normcdf(v9) - v2.z * native_exp(-0.02f * v3.z) * normcdf(v9 - v8), v.w * normcdf(v11) - v2.w * native_exp(-0.02f * v3.w) * normcdf(v11 - v10));
    } else {
        for (uint i = start; i < N; ++i) {
            float s_i = s[i];
            float x_i = x[i];
            float t_i = t[i];
            float v12 = 0.3f * sqrt(t_i);
            float v13 = (native_log(s_i / x_i) + 0.065f * t_i) / v12;
            output[i] = s_i * normcdf(v13) - x_i * native_exp(-0.02f * t_i) * normcdf(v13 - v12);
        }
    }
}
