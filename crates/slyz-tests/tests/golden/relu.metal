#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void relu(
    device const float* x [[buffer(0)]],
    device       float* output [[buffer(1)]],
    uint tid [[thread_position_in_grid]]
) {
    uint idx = tid;
    output[idx] = max(x[tid], 0.0f);
}
