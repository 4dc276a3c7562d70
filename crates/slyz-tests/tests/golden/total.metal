#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void total_fold(
    device const float* x [[buffer(0)]],
    device       float* tmp1 [[buffer(1)]],
    threadgroup float* part1 [[threadgroup(0)]],
    constant uint& N [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint gid [[threadgroup_position_in_grid]]
) {
    uint at = gid * 16384u;
    uint at2 = min(at + 16384u, N);
    float acc = 0.0f;
    for (uint i = at + lid; i < at2; i += 16384u) {
        uint at3 = min(i + 16384u, at2);
        float acc2 = 0.0f;
        for (uint j = i; j < at3; j += 4096u) {
            float acc3 = 0.0f;
            uint end = min(j + 4096u, at3);
            for (uint k = j; k < end; k += 256u) acc3 += x[k];
            acc2 += acc3;
        }
        acc += acc2;
    }
    float total = simd_sum(acc);
    if (lid % 32u == 0u) part1[lid / 32u] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float x2 = part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
    if (lid == 0u) tmp1[gid] = x2;
}

kernel void total_fold_parts(
    device const float* tmp1 [[buffer(0)]],
    device       float* output [[buffer(1)]],
    threadgroup float* part1 [[threadgroup(0)]],
    constant uint& N [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]]
) {
    uint n = (N + 16383u) / 16384u;
    float acc = 0.0f;
    for (uint i = 0u; i < n; i += 65536u) {
        uint at = min(i + 65536u, n);
        float acc2 = 0.0f;
        for (uint j = i + lid; j < at; j += 16384u) {
            uint at2 = min(j + 16384u, at);
            float acc3 = 0.0f;
            for (uint k = j; k < at2; k += 4096u) {
                float acc4 = 0.0f;
                uint end = min(k + 4096u, at2);
                for (uint l = k; l < end; l += 256u) acc4 += tmp1[l];
                acc3 += acc4;
            }
            acc2 += acc3;
        }
        float total = simd_sum(acc2);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lid % 32u == 0u) part1[lid / 32u] = total;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        acc += part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
    }
    if (lid == 0u) output[0] = acc;
}
