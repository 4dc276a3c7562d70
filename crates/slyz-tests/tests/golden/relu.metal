#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void relu(
    device const float* input [[buffer(0)]],
    device       float* output [[buffer(1)]],
    uint tid [[thread_position_in_grid]]
) {
    uint idx = tid;
    output[idx] = max(input[tid], 0.0f);
}
