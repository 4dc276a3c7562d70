#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void saxpy(
    device const float* x [[buffer(0)]],
    device const float* y [[buffer(1)]],
    device       float* out [[buffer(2)]],
    constant uint& threads_x [[buffer(3)]],
    constant uint& x_len [[buffer(4)]],
    constant uint& y_len [[buffer(5)]],
    constant uint& out_len [[buffer(6)]],
    constant float& a [[buffer(7)]],
    uint3 tid [[thread_position_in_grid]]
) {
    if (tid.x < threads_x && tid.x < out_len) {
        out[tid.x] = a * (tid.x < x_len ? x[tid.x] : 0.0f) + (tid.x < y_len ? y[tid.x] : 0.0f);
    }
}
