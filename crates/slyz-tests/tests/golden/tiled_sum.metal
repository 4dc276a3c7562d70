#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

inline float combine(float x, float x2) {
    return x + x2;
}

kernel void tiled_reduce(
    device const float* input [[buffer(0)]],
    device       float* partials [[buffer(1)]],
    threadgroup float* tile [[threadgroup(0)]],
    constant uint& height [[buffer(2)]],
    constant uint& width2 [[buffer(3)]],
    constant uint& tiles_x [[buffer(4)]],
    uint3 tid [[thread_position_in_grid]],
    uint3 lid [[thread_position_in_threadgroup]],
    uint3 gid [[threadgroup_position_in_grid]]
) {
    tile[lid.y * 16u + lid.x] = tid.x < width2 && tid.y < height ? input[tid.y * width2 + tid.x] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool first = lid.x == 0u;
    if (lid.x < 8u) {
        tile[lid.y * 16u + lid.x] = combine(tile[lid.y * 16u + lid.x], tile[lid.y * 16u + (lid.x + 8u)]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid.x < 4u) {
        tile[lid.y * 16u + lid.x] = combine(tile[lid.y * 16u + lid.x], tile[lid.y * 16u + (lid.x + 4u)]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid.x < 2u) {
        tile[lid.y * 16u + lid.x] = combine(tile[lid.y * 16u + lid.x], tile[lid.y * 16u + (lid.x + 2u)]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid.x < 1u) {
        tile[lid.y * 16u + lid.x] = combine(tile[lid.y * 16u + lid.x], tile[lid.y * 16u + (lid.x + 1u)]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first && lid.y < 8u) {
        tile[lid.y * 16u] = combine(tile[lid.y * 16u], tile[(lid.y + 8u) * 16u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first && lid.y < 4u) {
        tile[lid.y * 16u] = combine(tile[lid.y * 16u], tile[(lid.y + 4u) * 16u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first && lid.y < 2u) {
        tile[lid.y * 16u] = combine(tile[lid.y * 16u], tile[(lid.y + 2u) * 16u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first && lid.y < 1u) {
        tile[lid.y * 16u] = combine(tile[lid.y * 16u], tile[(lid.y + 1u) * 16u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (first && lid.y == 0u) partials[gid.y * tiles_x + gid.x] = tile[0];
}
