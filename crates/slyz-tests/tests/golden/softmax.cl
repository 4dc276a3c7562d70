// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax(
    global const float* restrict x,
    global float* restrict output,
    uint N,
    uint M
) {
    local float part1[256];
    const uint lid = get_local_id(0);
    const uint gid = get_group_id(0);
    uint stride = min(N, 2147483647u);
    for (uint i = gid; i < N; i += stride) {
        float acc = -INFINITY;
        for (uint j = lid; j < M; j += 1024u) {
            uint at = j + 768u;
            if (at < M) {
                float v = fmax(acc, fmax(fmax(x[i * M + j], x[i * M + (j + 256u)]), fmax(x[i * M + (j + 512u)], x[i * M + at])));
                acc = v;
            } else {
                for (uint k = j; k < M; k += 256u) acc = fmax(acc, x[i * M + k]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        part1[lid] = acc;
        uint s = 1u;
        while (s < 256u) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at2 = s * 2u;
            uint at3 = lid + s;
            if (lid % at2 == 0u && at3 < 256u) part1[lid] = fmax(part1[lid], part1[at3]);
            s = at2;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float x2 = part1[0];
        float acc2 = 0.0f;
        for (uint j = 0u; j < M; j += 65536u) {
            uint at4 = min(j + 65536u, M);
            float acc3 = 0.0f;
            for (uint k = j + lid; k < at4; k += 65536u) {
                uint at5 = min(k + 65536u, at4);
                float acc4 = 0.0f;
                for (uint l = k; l < at5; l += 16384u) {
                    uint at6 = min(l + 16384u, at5);
                    float acc5 = 0.0f;
                    for (uint i2 = l; i2 < at6; i2 += 1024u) {
                        uint at7 = i2 + 768u;
                        if (at7 < at6) {
                            float v2 = native_exp(x[i * M + i2] - x2) + native_exp(x[i * M + (i2 + 256u)] - x2) + (native_exp(x[i * M + (i2 + 512u)] - x2) + native_exp(x[i * M + at7] - x2));
                            acc5 += v2;
                        } else {
                            for (uint i3 = i2; i3 < at6; i3 += 256u) acc5 += native_exp(x[i * M + i3] - x2);
                        }
                    }
                    acc4 += acc5;
                }
                acc3 += acc4;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            part1[lid] = acc3;
            uint s2 = 1u;
            while (s2 < 256u) {
                barrier(CLK_LOCAL_MEM_FENCE);
                uint at8 = s2 * 2u;
                uint at9 = lid + s2;
                if (lid % at8 == 0u && at9 < 256u) part1[lid] += part1[at9];
                s2 = at8;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            acc2 += part1[0];
        }
        for (uint j = lid; j < M; j += 1024u) {
            uint at10 = j + 256u;
            uint at11 = j + 512u;
            uint at12 = j + 768u;
            if (at12 < M) {
                output[i * M + j] = native_exp(x[i * M + j] - x2) / acc2;
                output[i * M + at10] = native_exp(x[i * M + at10] - x2) / acc2;
                output[i * M + at11] = native_exp(x[i * M + at11] - x2) / acc2;
                output[i * M + at12] = native_exp(x[i * M + at12] - x2) / acc2;
            } else {
                for (uint k = j; k < M; k += 256u) {
                    output[i * M + k] = native_exp(x[i * M + k] - x2) / acc2;
                }
            }
        }
    }
}
