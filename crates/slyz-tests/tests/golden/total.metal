#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void total_fold(
    device const float* x [[buffer(0)]],
    device       float* tmp1 [[buffer(1)]],
    threadgroup float* parts [[threadgroup(0)]],
    constant uint& N [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint gid [[threadgroup_position_in_grid]]
) {
    float sum = 0.0f;
    uint end = min(gid * 16384u + 16384u, N);
    for (uint i = gid * 16384u + lid; i < end; i += 256u) sum += x[i];
    float total = simd_sum(sum);
    uint lane2 = lid % 32u;
    if (lane2 == 0u) parts[lid / 32u] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total2 = simd_sum(lane2 < 8u ? parts[lane2] : 0.0f);
    if (lid == 0u) tmp1[gid] = total2;
}

kernel void total_fold_parts(
    device const float* tmp1 [[buffer(0)]],
    device       float* output [[buffer(1)]],
    threadgroup float* parts [[threadgroup(0)]],
    constant uint& N [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]]
) {
    float sum = 0.0f;
    uint end = (N + 16383u) / 16384u;
    for (uint i = lid; i < end; i += 256u) sum += tmp1[i];
    float total = simd_sum(sum);
    uint lane2 = lid % 32u;
    if (lane2 == 0u) parts[lid / 32u] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total2 = simd_sum(lane2 < 8u ? parts[lane2] : 0.0f);
    if (lid == 0u) output[0] = total2;
}
