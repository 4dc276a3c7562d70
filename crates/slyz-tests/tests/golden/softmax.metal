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
    uint group = lid / 32u;
    bool first = lid % 32u == 0u;
    if (first) parts[group] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = max(max(max(parts[0], parts[1]), max(parts[2], parts[3])), max(max(parts[4], parts[5]), max(parts[6], parts[7])));
    float sum = 0.0f;
    for (uint i = lid; i < M; i += 256u) sum += exp(x[gid * M + i] - v);
    float total2 = simd_sum(sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first) parts[group] = total2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v2 = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
    for (uint i = lid; i < M; i += 256u) output[gid * M + i] = exp(x[gid * M + i] - v) / v2;
}
