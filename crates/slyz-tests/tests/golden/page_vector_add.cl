// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void vectorAdd(
    global const float* restrict a,
    global const float* restrict b,
    global float* restrict result,
    uint threads_x,
    uint a_len,
    uint b_len,
    uint result_len
) {
    const uint tid_x = get_global_id(0);
    if (tid_x < threads_x && tid_x < result_len) {
        result[tid_x] = (tid_x < a_len ? a[tid_x] : 0.0f) + (tid_x < b_len ? b[tid_x] : 0.0f);
    }
}
