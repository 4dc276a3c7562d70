// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void total_fold(
    global const float* restrict x,
    global float* restrict tmp2,
    uint N
) {
    local float part[256];
    const uint lid = get_local_id(0);
    const uint gid = get_group_id(0);
    uint end = min(gid * 65536u + 65536u, N);
    uint end2 = min(gid * 65536u + (uint)max((int)end - (int)(gid * 65536u), 0) / 4096u * 4096u, end);
    float sum = 0.0f;
    for (uint i = gid * 65536u; i < end2; i += 4096u) {
        uint at = i + lid * 4u;
        const float4 v = *(global const float4*)&x[at];
        uint at2 = at + 1024u;
        const float4 v2 = *(global const float4*)&x[at2];
        uint at3 = at + 2048u;
        const float4 v3 = *(global const float4*)&x[at3];
        uint at4 = at + 3072u;
        const float4 v4 = *(global const float4*)&x[at4];
        float v5 = v.x + v.y + (v.z + v.w) + (v2.x + v2.y + (v2.z + v2.w)) + (v3.x + v3.y + (v3.z + v3.w) + (v4.x + v4.y + (v4.z + v4.w)));
        sum += v5;
    }
    for (uint i = end2 + lid; i < end; i += 256u) sum += x[i];
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 128u) part[lid] += part[lid + 128u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 64u) part[lid] += part[lid + 64u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 32u) part[lid] += part[lid + 32u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 16u) part[lid] += part[lid + 16u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 8u) part[lid] += part[lid + 8u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 1u) {
        float v6 = part[lid] + part[lid + 1u] + (part[lid + 2u] + part[lid + 3u]) + (part[lid + 4u] + part[lid + 5u] + (part[lid + 6u] + part[lid + 7u]));
        tmp2[gid] = v6;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void total_fold_parts(
    global const float* restrict tmp2,
    global float* restrict output,
    uint N
) {
    local float part[256];
    const uint lid = get_local_id(0);
    uint end = (N + 65535u) / 65536u;
    uint end2 = min(max(end, 0u) / 2048u * 2048u, end);
    float sum = 0.0f;
    for (uint i = 0u; i < end2; i += 2048u) {
        uint at = i + lid;
        float v = tmp2[at] + tmp2[at + 256u] + (tmp2[at + 512u] + tmp2[at + 768u]) + (tmp2[at + 1024u] + tmp2[at + 1280u] + (tmp2[at + 1536u] + tmp2[at + 1792u]));
        sum += v;
    }
    for (uint i = end2 + lid; i < end; i += 256u) sum += tmp2[i];
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 128u) part[lid] += part[lid + 128u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 64u) part[lid] += part[lid + 64u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 32u) part[lid] += part[lid + 32u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 16u) part[lid] += part[lid + 16u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 8u) part[lid] += part[lid + 8u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 1u) {
        float v2 = part[lid] + part[lid + 1u] + (part[lid + 2u] + part[lid + 3u]) + (part[lid + 4u] + part[lid + 5u] + (part[lid + 6u] + part[lid + 7u]));
        output[0] = v2;
    }
}
