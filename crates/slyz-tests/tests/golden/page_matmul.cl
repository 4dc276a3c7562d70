// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void matmulKernel(
    global const float* restrict A,
    global const float* restrict B,
    global float* restrict C,
    uint threads_x,
    uint threads_y,
    uint A_len,
    uint B_len,
    uint C_len,
    int M,
    int N,
    int K
) {
    const uint tid_x = get_global_id(0);
    const uint tid_y = get_global_id(1);
    if (tid_x < threads_x && tid_y < threads_y && (long)tid_y < (long)M && (long)tid_x < (long)N) {
        long at = (long)tid_y * (long)K;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            long at2 = at + k;
            long at3 = (long)k * (long)N + tid_x;
            sum += (at2 >= 0L && at2 < A_len ? A[at2] : 0.0f) * (at3 < B_len ? B[at3] : 0.0f);
        }
        long at4 = (long)tid_y * (long)N + tid_x;
        if (at4 < C_len) C[at4] = sum;
    }
}
