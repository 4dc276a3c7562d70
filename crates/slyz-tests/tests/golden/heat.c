FN void heat_map_lanes(f32 *restrict out0, const f32 *restrict in0, i64 M, int past, i64 v1, i64 v2, i64 v4, i64 i, int n, int inside) {
    vf32 v6 = load_f32(in0 + v4 * M + i, n);
    vf32 v7 = load_f32(in0 + s_clamp_i64(v4 - 1, 0, v1) * M + i, n) + load_f32(in0 + s_clamp_i64(v4 + 1, 0, v1) * M + i, n);
    vf32 v8 = v7 + load_clamped_f32(in0 + v4 * M, i - 1, 0, v2, n, inside) + load_clamped_f32(in0 + v4 * M, i + 1, 0, v2, n, inside);
    stream_f32(out0 + v4 * M + i, v6 + 0.1f * (v8 - 4.0f * v6), n, past);
}

// heat_map
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    i64 N = sizes[0];
    i64 M = sizes[1];
    int past = (int)sizes[2];
    for (i64 block = begin; block < end; block++) {
        i64 v1 = N - 1;
        i64 v2 = M - 1;
        i64 v3 = (M + 8191) / 8192;
        i64 v4 = s_div_i64(block, v3);
        i64 v5 = s_rem_i64(block, v3) * 8192;
        i64 end9 = s_min_i64(v5 + 8192, M);
        i64 j10 = v5;
        i64 from11 = s_max_i64(1, -1);
        for (; j10 + W <= end9 && j10 < from11; j10 += W) heat_map_lanes(out0, in0, M, past, v1, v2, v4, j10, W, 0);
        i64 to12 = s_min_i64(s_min_i64(end9, v2 + 2), v2);
        for (; j10 + W <= to12; j10 += W) heat_map_lanes(out0, in0, M, past, v1, v2, v4, j10, W, 1);
        for (; j10 + W <= end9; j10 += W) heat_map_lanes(out0, in0, M, past, v1, v2, v4, j10, W, 0);
        if (j10 < end9) heat_map_lanes(out0, in0, M, past, v1, v2, v4, j10, (int)(end9 - j10), 0);
    }
    stream_end(past);
}
