// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void relu(
    global const float* restrict input,
    global float* restrict output,
    uint threads_x,
    uint input_len,
    uint output_len
) {
    const uint tid_x = get_global_id(0);
    if (tid_x < threads_x && tid_x < output_len) {
        output[tid_x] = fmax(0.0f, tid_x < input_len ? input[tid_x] : 0.0f);
    }
}
