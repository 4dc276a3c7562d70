#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

inline long min_i64(long a, long b) { return a < b ? a : b; }

kernel void softmax(
    device const float* input [[buffer(0)]],
    device       float* output [[buffer(1)]],
    device       float* row2 [[buffer(2)]],
    threadgroup float* part1 [[threadgroup(0)]],
    constant uint& N [[buffer(3)]],
    constant uint& M [[buffer(4)]],
    uint lid [[thread_position_in_threadgroup]],
    uint gid [[threadgroup_position_in_grid]]
) {
    uint stride = min(N, 512u);
    for (uint i = gid; i < N; i += stride) {
        float acc = -INFINITY;
        for (uint j = lid; j < M; j += 256u) acc = max(acc, input[i * M + j]);
        uint s = 1u;
        float s2 = acc;
        while (s < 32u) {
            float other = simd_shuffle_down(s2, (ushort)s);
            s *= 2u;
            s2 = max(s2, other);
        }
        uint at = lid / 32u;
        bool is = lid % 32u == 0u;
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        if (is) part1[at] = s2;
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        float v = max(max(max(part1[0], part1[1]), max(part1[2], part1[3])), max(max(part1[4], part1[5]), max(part1[6], part1[7])));
        for (uint j = lid; j < M; j += 256u) row2[gid * M + j] = exp(input[i * M + j] - v);
        float acc2 = 0.0f;
        for (long j = 0L; j < M; j += 65536L) {
            uint at2 = min_i64(j + 65536L, (long)M);
            threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
            float acc3 = 0.0f;
            for (long k = (uint)j + lid; k < at2; k += 16384L) {
                uint at3 = min_i64(k + 16384L, (long)at2);
                float acc4 = 0.0f;
                for (long l = k; l < at3; l += 4096L) {
                    float acc5 = 0.0f;
                    uint end = min_i64(l + 4096L, (long)at3);
                    for (uint i2 = l; i2 < end; i2 += 256u) acc5 += row2[gid * M + i2];
                    acc4 += acc5;
                }
                acc3 += acc4;
            }
            float total = simd_sum(acc3);
            if (is) part1[at] = total;
            threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
            acc2 += part1[0] + part1[1] + (part1[2] + part1[3]) + (part1[4] + part1[5] + (part1[6] + part1[7]));
        }
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
        for (uint j = lid; j < M; j += 256u) output[i * M + j] = row2[gid * M + j] / acc2;
    }
}
