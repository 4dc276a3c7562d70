// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void tiledMatmul(
    global const float* restrict A,
    global const float* restrict B,
    global float* restrict C,
    uint A_len,
    uint B_len,
    uint C_len,
    int M,
    int N,
    int K
) {
    local float As[256];
    local float Bs[256];
    const uint lid_x = get_local_id(0);
    const uint lid_y = get_local_id(1);
    const uint gid_x = get_group_id(0);
    const uint gid_y = get_group_id(1);
    long row = gid_y * 16L + lid_y;
    long col = gid_x * 16L + lid_x;
    uint at = lid_y * 16u + lid_x;
    long at2 = (ulong)row * (ulong)K;
    float sum = 0.0f;
    int end = K / 16;
    for (int tile = 0; tile < end; ++tile) {
        uint start = (uint)tile * 16u;
        long at3 = (ulong)at2 + (ulong)start + (ulong)lid_x;
        As[at] = at3 >= 0L && at3 < A_len ? A[at3] : 0.0f;
        long at4 = (long)(start + lid_y) * (long)N + col;
        Bs[at] = at4 >= 0L && at4 < B_len ? B[at4] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0u; k < 16u; ++k) sum += As[lid_y * 16u + k] * Bs[k * 16u + lid_x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && col < N) {
        long at5 = (long)((ulong)row * (ulong)N) + col;
        if (at5 < C_len) C[at5] = sum;
    }
}
