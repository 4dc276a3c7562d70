// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void relu(
    global const float* restrict x,
    global float* restrict output,
    uint N
) {
    const uint tid = get_global_id(0);
    if (tid * 4u + 3u < N) {
        uint at = tid * 4u;
        const float4 v = *(global const float4*)&x[at];
        uint at2 = tid * 4u;
        *(global float4*)&output[at2] = (float4)(fmax(v.x, 0.0f), fmax(v.y, 0.0f), fmax(v.z, 0.0f), fmax(v.w, 0.0f));
    } else {
        for (uint i = tid * 4u; i < N; ++i) output[i] = fmax(x[i], 0.0f);
    }
}
