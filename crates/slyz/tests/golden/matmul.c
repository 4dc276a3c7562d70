FN void matmul_map_lanes(f32 *restrict out0, const f32 *restrict in0, const f32 *restrict in1, i64 K, i64 M, int past, i64 v2, i64 i, int n) {
    vf32 s4[4];
    WAYS(u, 4) s4[u] = all_f32(0.0f);
    for (i64 k5 = 0; k5 < K; k5 += 256) {
        vf32 s6[4];
        WAYS(u, 4) s6[u] = all_f32(0.0f);
        i64 end8 = s_min_i64(k5 + 256, K);
        for (i64 k7 = k5; k7 < end8; k7++) {
            vf32 v9[4];
            WAYS(u, 4) v9[u] = s6[u] + in0[v2 * K + k7] * load_f32(in1 + k7 * M + (i + u * W), lanes_left(n, u));
            WAYS(u, 4) s6[u] = v9[u];
        }
        WAYS(u, 4) s4[u] = s4[u] + s6[u];
    }
    WAYS(u, 4) stream_f32(out0 + v2 * M + (i + u * W), s4[u], lanes_left(n, u), past);
}

// matmul_map
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    const f32 *restrict in1 = memories[2];
    i64 K = sizes[1];
    i64 M = sizes[2];
    int past = (int)sizes[3];
    for (i64 block = begin; block < end; block++) {
        i64 v1 = (M + 127) / 128;
        i64 v2 = s_div_i64(block, v1);
        i64 v3 = s_rem_i64(block, v1) * 128;
        i64 end10 = s_min_i64(v3 + 128, M);
        i64 j11 = v3;
        for (; j11 + 4 * W <= end10; j11 += 4 * W) matmul_map_lanes(out0, in0, in1, K, M, past, v2, j11, 4 * W);
        if (j11 < end10) matmul_map_lanes(out0, in0, in1, K, M, past, v2, j11, (int)(end10 - j11));
    }
    stream_end(past);
}
