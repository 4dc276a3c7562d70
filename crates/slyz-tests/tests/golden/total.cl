// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void total_fold(
    global const float* restrict x,
    global float* restrict tmp2,
    uint N
) {
    local float part2[256];
    const uint lid = get_local_id(0);
    const uint gid = get_group_id(0);
    uint at = gid * 65536u;
    uint at2 = min(at + 65536u, N);
    uint at3 = min(at + (uint)max((int)at2 - (int)at, 0) / 4096u * 4096u, at2);
    float acc = 0.0f;
    for (uint i = at; i < at3; i += 4096u) {
        uint at4 = i + lid * 4u;
        const float4 v = *(global const float4*)&x[at4];
        uint at5 = at4 + 1024u;
        const float4 v2 = *(global const float4*)&x[at5];
        uint at6 = at4 + 2048u;
        const float4 v3 = *(global const float4*)&x[at6];
        uint at7 = at4 + 3072u;
        const float4 v4 = *(global const float4*)&x[at7];
        float v5 = v.x + v.y + (v.z + v.w) + (v2.x + v2.y + (v2.z + v2.w)) + (v3.x + v3.y + (v3.z + v3.w) + (v4.x + v4.y + (v4.z + v4.w)));
        acc += v5;
    }
    for (uint i = at3 + lid; i < at2; i += 256u) acc += x[i];
    part2[lid] = acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 128u) part2[lid] += part2[lid + 128u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 64u) part2[lid] += part2[lid + 64u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 32u) part2[lid] += part2[lid + 32u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 16u) part2[lid] += part2[lid + 16u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 8u) part2[lid] += part2[lid + 8u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 1u) {
        float v6 = part2[lid] + part2[lid + 1u] + (part2[lid + 2u] + part2[lid + 3u]) + (part2[lid + 4u] + part2[lid + 5u] + (part2[lid + 6u] + part2[lid + 7u]));
        tmp2[gid] = v6;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void total_fold_parts(
    global const float* restrict tmp2,
    global float* restrict output,
    uint N
) {
    local float part2[256];
    const uint lid = get_local_id(0);
    uint n = (N + 65535u) / 65536u;
    float acc = 0.0f;
    for (uint i = 0u; i < n; i += 131072u) {
        uint at = min(i + 131072u, n);
        float acc2 = 0.0f;
        for (uint j = i; j < at; j += 32768u) {
            uint at2 = min(j + 32768u, at);
            uint at3 = min(j + max(at2 - j, 0u) / 2048u * 2048u, at2);
            float acc3 = 0.0f;
            for (uint k = j; k < at3; k += 2048u) {
                uint at4 = k + lid;
                float v = tmp2[at4] + tmp2[at4 + 256u] + (tmp2[at4 + 512u] + tmp2[at4 + 768u]) + (tmp2[at4 + 1024u] + tmp2[at4 + 1280u] + (tmp2[at4 + 1536u] + tmp2[at4 + 1792u]));
                acc3 += v;
            }
            for (uint k = at3 + lid; k < at2; k += 256u) acc3 += tmp2[k];
            acc2 += acc3;
        }
        acc += acc2;
    }
    part2[lid] = acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 128u) part2[lid] += part2[lid + 128u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 64u) part2[lid] += part2[lid + 64u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 32u) part2[lid] += part2[lid + 32u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 16u) part2[lid] += part2[lid + 16u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 8u) part2[lid] += part2[lid + 8u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 1u) {
        float v2 = part2[lid] + part2[lid + 1u] + (part2[lid + 2u] + part2[lid + 3u]) + (part2[lid + 4u] + part2[lid + 5u] + (part2[lid + 6u] + part2[lid + 7u]));
        output[0] = v2;
    }
}
