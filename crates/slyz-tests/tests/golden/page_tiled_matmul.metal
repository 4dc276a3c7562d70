#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void tiledMatmul(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    device       float* C [[buffer(2)]],
    threadgroup float* As [[threadgroup(0)]],
    threadgroup float* Bs [[threadgroup(1)]],
    constant uint& A_len [[buffer(3)]],
    constant uint& B_len [[buffer(4)]],
    constant uint& C_len [[buffer(5)]],
    constant int& M [[buffer(6)]],
    constant int& N [[buffer(7)]],
    constant int& K [[buffer(8)]],
    uint3 lid [[thread_position_in_threadgroup]],
    uint3 gid [[threadgroup_position_in_grid]]
) {
    long row = gid.y * 16L + lid.y;
    long col = gid.x * 16L + lid.x;
    uint at = lid.y * 16u + lid.x;
    long at2 = (ulong)row * (ulong)K;
    float sum = 0.0f;
    int end = K / 16;
    for (int tile = 0; tile < end; ++tile) {
        uint start = (uint)tile * 16u;
        long at3 = (ulong)at2 + (ulong)start + (ulong)lid.x;
        As[at] = at3 >= 0L && at3 < A_len ? A[at3] : 0.0f;
        long at4 = (long)(start + lid.y) * (long)N + col;
        Bs[at] = at4 >= 0L && at4 < B_len ? B[at4] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0u; k < 16u; ++k) sum += As[lid.y * 16u + k] * Bs[k * 16u + lid.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < M && col < N) {
        long at5 = (long)((ulong)row * (ulong)N) + col;
        if (at5 < C_len) C[at5] = sum;
    }
}
