#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void softmax(
    device const float* x [[buffer(0)]],
    device       float* output [[buffer(1)]],
    threadgroup float* part1 [[threadgroup(0)]],
    constant uint& M [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint gid [[threadgroup_position_in_grid]]
) {
    float acc = -INFINITY;
    for (uint i = lid; i < M; i += 256u) acc = max(acc, x[gid * M + i]);
    float total = simd_max(acc);
    uint at = lid / 32u;
    bool is = lid % 32u == 0u;
    if (is) part1[at] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = max(max(max(part1[0], part1[1]), max(part1[2], part1[3])), max(max(part1[4], part1[5]), max(part1[6], part1[7])));
    float acc2 = 0.0f;
    for (uint i = 0u; i < M; i += 65536u) {
        uint at2 = min(i + 65536u, M);
        float acc3 = 0.0f;
        for (uint j = i + lid; j < at2; j += 16384u) {
            uint at3 = min(j + 16384u, at2);
            float acc4 = 0.0f;
            for (uint k = j; k < at3; k += 4096u) {
                float acc5 = 0.0f;
                uint end = min(k + 4096u, at3);
                for (uint l = k; l < end; l += 256u) acc5 += exp(x[gid * M + l] - v);
                acc4 += acc5;
            }
            acc3 += acc4;
        }
        float total2 = simd_sum(acc3);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (is) part1[at] = total2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        acc2 += part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
    }
    for (uint i = lid; i < M; i += 256u) output[gid * M + i] = exp(x[gid * M + i] - v) / acc2;
}
