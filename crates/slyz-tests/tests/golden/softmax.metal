#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void softmax(
    device const float* x [[buffer(0)]],
    device       float* output [[buffer(1)]],
    threadgroup float* parts [[threadgroup(0)]],
    constant uint& M [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint gid [[threadgroup_position_in_grid]]
) {
    float largest = -INFINITY;
    for (uint i = lid; i < M; i += 256u) largest = max(largest, x[gid * M + i]);
    float total = simd_max(largest);
    uint lane2 = lid % 32u;
    uint group = lid / 32u;
    if (lane2 == 0u) parts[group] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total2 = simd_max(lane2 < 8u ? parts[lane2] : -INFINITY);
    float sum = 0.0f;
    for (uint i = lid; i < M; i += 256u) sum += exp(x[gid * M + i] - total2);
    float total3 = simd_sum(sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane2 == 0u) parts[group] = total3;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total4 = simd_sum(lane2 < 8u ? parts[lane2] : 0.0f);
    for (uint i = lid; i < M; i += 256u) {
        output[gid * M + i] = exp(x[gid * M + i] - total2) / total4;
    }
}
