#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void relu(
    device const float* input [[buffer(0)]],
    device       float* output [[buffer(1)]],
    constant uint& threads_x [[buffer(2)]],
    constant uint& input_len [[buffer(3)]],
    constant uint& output_len [[buffer(4)]],
    uint3 tid [[thread_position_in_grid]]
) {
    if (tid.x < threads_x && tid.x < output_len) {
        output[tid.x] = max(0.0f, tid.x < input_len ? input[tid.x] : 0.0f);
    }
}
