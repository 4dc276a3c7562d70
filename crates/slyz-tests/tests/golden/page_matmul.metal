#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void matmulKernel(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    device       float* C [[buffer(2)]],
    constant uint& threads_x [[buffer(3)]],
    constant uint& threads_y [[buffer(4)]],
    constant uint& A_len [[buffer(5)]],
    constant uint& B_len [[buffer(6)]],
    constant uint& C_len [[buffer(7)]],
    constant int& M [[buffer(8)]],
    constant int& N [[buffer(9)]],
    constant int& K [[buffer(10)]],
    uint3 tid [[thread_position_in_grid]]
) {
    if (tid.x < threads_x && tid.y < threads_y && (long)tid.y < (long)M && (long)tid.x < (long)N) {
        long at = (long)tid.y * (long)K;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            long at2 = at + k;
            long at3 = (long)k * (long)N + tid.x;
            sum += (at2 >= 0L && at2 < A_len ? A[at2] : 0.0f) * (at3 < B_len ? B[at3] : 0.0f);
        }
        long at4 = (long)tid.y * (long)N + tid.x;
        if (at4 < C_len) C[at4] = sum;
    }
}
