#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void vectorAdd(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device       float* result [[buffer(2)]],
    constant uint& threads_x [[buffer(3)]],
    constant uint& a_len [[buffer(4)]],
    constant uint& b_len [[buffer(5)]],
    constant uint& result_len [[buffer(6)]],
    uint3 tid [[thread_position_in_grid]]
) {
    if (tid.x < threads_x && tid.x < result_len) {
        result[tid.x] = (tid.x < a_len ? a[tid.x] : 0.0f) + (tid.x < b_len ? b[tid.x] : 0.0f);
    }
}
