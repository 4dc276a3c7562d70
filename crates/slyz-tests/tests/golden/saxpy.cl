// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void saxpy(
    global const float* restrict x,
    global const float* restrict y,
    global float* restrict out,
    uint threads_x,
    uint x_len,
    uint y_len,
    uint out_len,
    float a
) {
    const uint tid_x = get_global_id(0);
    if (tid_x < threads_x && tid_x < out_len) {
        out[tid_x] = a * (tid_x < x_len ? x[tid_x] : 0.0f) + (tid_x < y_len ? y[tid_x] : 0.0f);
    }
}
