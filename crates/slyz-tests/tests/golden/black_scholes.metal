#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

inline float normcdf(float x) {
    float v = fabs(x);
    float v2 = 1.0f / (1.0f + 0.2316419f * v);
    float v3 = fma(fma(fma(fma(fma(1.3302745f, v2, -1.821256f), v2, 1.7814779f), v2, -0.35656378f), v2, 0.31938154f), v2, 0.0f);
    float v4 = 1.0f - 0.3989423f * exp(-v * v / 2.0f) * v3;
    return x < 0.0f ? 1.0f - v4 : v4;
}

kernel void black_scholes(
    device const float* s [[buffer(0)]],
    device const float* x [[buffer(1)]],
    device const float* t [[buffer(2)]],
    device       float* output [[buffer(3)]],
    uint tid [[thread_position_in_grid]]
) {
    uint idx = tid;
    float s_i = s[idx];
    float x_i = x[idx];
    float t_i = t[idx];
    float v = 0.3f * sqrt(t_i);
    float v2 = (log(s_i / x_i) + 0.065f * t_i) / v;
    output[idx] = s_i * normcdf(v2) - x_i * exp(-0.02f * t_i) * normcdf(v2 - v);
}
