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
    if (lid % 32u == 0u) parts[lid / 32u] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float x2 = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
    if (lid == 0u) tmp1[gid] = x2;
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
    if (lid % 32u == 0u) parts[lid / 32u] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float x = parts[0] + parts[1] + (parts[2] + parts[3]) + (parts[4] + parts[5] + (parts[6] + parts[7]));
    if (lid == 0u) output[0] = x;
}
