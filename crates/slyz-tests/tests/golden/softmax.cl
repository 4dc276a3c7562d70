// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax(
    global const float* restrict x,
    global float* restrict output,
    uint N,
    uint M
) {
    local float parts[256];
    const uint lid = get_local_id(0);
    const uint gid = get_group_id(0);
    uint stride = min(N, 2147483647u);
    for (uint i = gid; i < N; i += stride) {
        float largest = -INFINITY;
        for (uint j = lid; j < M; j += 1024u) {
            if (j + 768u < M) {
                float v = fmax(largest, fmax(fmax(x[i * M + j], x[i * M + (j + 256u)]), fmax(x[i * M + (j + 512u)], x[i * M + (j + 768u)])));
                largest = v;
            } else {
                for (uint k = j; k < M; k += 256u) largest = fmax(largest, x[i * M + k]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        parts[lid] = largest;
        for (uint apart = 1u; apart < 256u; apart *= 2u) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at = lid + apart;
            if (lid % (apart * 2u) == 0u && at < 256u) parts[lid] = fmax(parts[lid], parts[at]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float part = parts[0];
        float sum = 0.0f;
        for (uint j = lid; j < M; j += 1024u) {
            if (j + 768u < M) {
                float v2 = native_exp(x[i * M + j] - part) + native_exp(x[i * M + (j + 256u)] - part) + (native_exp(x[i * M + (j + 512u)] - part) + native_exp(x[i * M + (j + 768u)] - part));
                sum += v2;
            } else {
                for (uint k = j; k < M; k += 256u) sum += native_exp(x[i * M + k] - part);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        parts[lid] = sum;
        for (uint apart = 1u; apart < 256u; apart *= 2u) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at2 = lid + apart;
            if (lid % (apart * 2u) == 0u && at2 < 256u) parts[lid] += parts[at2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float part2 = parts[0];
        for (uint j = lid; j < M; j += 1024u) {
            if (j + 768u < M) {
                output[i * M + j] = native_exp(x[i * M + j] - part) / part2;
                output[i * M + (j + 256u)] = native_exp(x[i * M + (j + 256u)] - part) / part2;
                output[i * M + (j + 512u)] = native_exp(x[i * M + (j + 512u)] - part) / part2;
                output[i * M + (j + 768u)] = native_exp(x[i * M + (j + 768u)] - part) / part2;
            } else {
                for (uint k = j; k < M; k += 256u) {
                    output[i * M + k] = native_exp(x[i * M + k] - part) / part2;
                }
            }
        }
    }
}
