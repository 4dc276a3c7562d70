FN vf32 normcdf(vf32 x0) {
    vf32 v7 = abs_f32(x0);
    vf32 v8 = 1.0f / (1.0f + 0.2316419f * v7);
    vf32 v9 = fma_f32(fma_f32(all_f32(1.3302745f), v8, all_f32(-1.821256f)), v8, all_f32(1.7814779f));
    vf32 v10 = fma_f32(fma_f32(fma_f32(v9, v8, all_f32(-0.35656378f)), v8, all_f32(0.31938154f)), v8, all_f32(0.0f));
    vf32 v11 = 1.0f - 0.3989423f * exp_f32(-v7 * v7 / 2.0f) * v10;
    return select_f32(x0 < 0.0f, 1.0f - v11, v11);
}

FN void black_scholes_map_lanes(f32 *restrict out0, const f32 *restrict in0, const f32 *restrict in1, const f32 *restrict in2, int past, i64 i, int n) {
    vf32 v2 = load_f32(in0 + i, n);
    vf32 v3 = load_f32(in1 + i, n);
    vf32 v4 = load_f32(in2 + i, n);
    vf32 v5 = 0.3f * sqrt_f32(v4);
    vf32 v6 = (ln_f32(v2 / v3) + 0.065f * v4) / v5;
    stream_f32(out0 + i, v2 * normcdf(v6) - v3 * exp_f32(-0.02f * v4) * normcdf(v6 - v5), n, past);
}

// black_scholes_map
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    const f32 *restrict in1 = memories[2];
    const f32 *restrict in2 = memories[3];
    i64 N = sizes[0];
    int past = (int)sizes[1];
    for (i64 block = begin; block < end; block++) {
        i64 v1 = block * 8192;
        i64 end12 = s_min_i64(v1 + 8192, N);
        i64 j13 = v1;
        for (; j13 + W <= end12; j13 += W) black_scholes_map_lanes(out0, in0, in1, in2, past, j13, W);
        if (j13 < end12) black_scholes_map_lanes(out0, in0, in1, in2, past, j13, (int)(end12 - j13));
    }
    stream_end(past);
}
