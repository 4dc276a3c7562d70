FN vf32 softmax_rows_fold_value(const f32 *restrict in0, i64 M, i64 block, i64 i, int n) {
    return load_f32(in0 + block * M + i, n);
}

FN void softmax_rows_fold_carry(vf32 (*level0)[64 / W], int turns, int l, vf32 *x0) {
    for (; turns >> l & 1; l++) {
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            p0 = max_f32(p0, x0[u]);
            x0[u] = p0;
        }
    }
    WAYS(u, 64 / W) level0[l][u] = x0[u];
}

static inline void softmax_rows_fold_tree(f32 *part0) {
    for (int w = 32; w > 0; w /= 2) {
        for (int j = 0; j < w; j += W) {
            int m = w - j < W ? w - j : W;
            vf32 p0 = load_f32(part0 + j, m);
            vf32 q0 = load_f32(part0 + w + j, m);
            p0 = max_f32(p0, q0);
            store_f32(part0 + j, p0, m);
        }
    }
}

static inline f32 softmax_rows_fold_close(vf32 (*level0)[64 / W], int turns) {
    vf32 x0[64 / W];
    WAYS(u, 64 / W) {
        x0[u] = all_f32(-__builtin_inff());
    }
    for (int l = 0; turns >> l; l++) {
        if (!(turns >> l & 1)) continue;
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            p0 = max_f32(p0, x0[u]);
            x0[u] = p0;
        }
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, x0[u], W);
    softmax_rows_fold_tree(part0);
    return part0[0];
}

static inline f32 softmax_rows_fold_chunk(const f32 *restrict in0, i64 M, i64 block, i64 lo, i64 hi) {
    vf32 level0[9][64 / W];
    vf32 x0[64 / W];
    int turns = 0;
    i64 i = lo;
    for (; i + 512 <= hi; i += 512, turns += 8) {
        WAYS(u, 64 / W) {
            vf32 x0_0 = softmax_rows_fold_value(in0, M, block, i + u * W, W);
            vf32 x0_1 = softmax_rows_fold_value(in0, M, block, i + 64 + u * W, W);
            x0_0 = max_f32(x0_0, x0_1);
            vf32 x0_2 = softmax_rows_fold_value(in0, M, block, i + 128 + u * W, W);
            vf32 x0_3 = softmax_rows_fold_value(in0, M, block, i + 192 + u * W, W);
            x0_2 = max_f32(x0_2, x0_3);
            x0_0 = max_f32(x0_0, x0_2);
            vf32 x0_4 = softmax_rows_fold_value(in0, M, block, i + 256 + u * W, W);
            vf32 x0_5 = softmax_rows_fold_value(in0, M, block, i + 320 + u * W, W);
            x0_4 = max_f32(x0_4, x0_5);
            vf32 x0_6 = softmax_rows_fold_value(in0, M, block, i + 384 + u * W, W);
            vf32 x0_7 = softmax_rows_fold_value(in0, M, block, i + 448 + u * W, W);
            x0_6 = max_f32(x0_6, x0_7);
            x0_4 = max_f32(x0_4, x0_6);
            x0_0 = max_f32(x0_0, x0_4);
            x0[u] = x0_0;
        }
        softmax_rows_fold_carry(level0, turns, 3, x0);
    }
    if (i + 256 <= hi) {
        WAYS(u, 64 / W) {
            vf32 x0_0 = softmax_rows_fold_value(in0, M, block, i + u * W, W);
            vf32 x0_1 = softmax_rows_fold_value(in0, M, block, i + 64 + u * W, W);
            x0_0 = max_f32(x0_0, x0_1);
            vf32 x0_2 = softmax_rows_fold_value(in0, M, block, i + 128 + u * W, W);
            vf32 x0_3 = softmax_rows_fold_value(in0, M, block, i + 192 + u * W, W);
            x0_2 = max_f32(x0_2, x0_3);
            x0_0 = max_f32(x0_0, x0_2);
            x0[u] = x0_0;
            level0[2][u] = x0[u];
        }
        turns += 4;
        i += 256;
    }
    if (i + 128 <= hi) {
        WAYS(u, 64 / W) {
            vf32 x0_0 = softmax_rows_fold_value(in0, M, block, i + u * W, W);
            vf32 x0_1 = softmax_rows_fold_value(in0, M, block, i + 64 + u * W, W);
            x0_0 = max_f32(x0_0, x0_1);
            x0[u] = x0_0;
            level0[1][u] = x0[u];
        }
        turns += 2;
        i += 128;
    }
    if (i + 64 <= hi) {
        WAYS(u, 64 / W) {
            vf32 x0_0 = softmax_rows_fold_value(in0, M, block, i + u * W, W);
            x0[u] = x0_0;
            level0[0][u] = x0[u];
        }
        turns += 1;
        i += 64;
    }
    if (i < hi) {
        for (int u = 0; u < 64 / W; u++, i += W) {
            x0[u] = all_f32(-__builtin_inff());
            if (i >= hi) continue;
            int n = hi - i < W ? (int)(hi - i) : W;
            vf32 z0 = softmax_rows_fold_value(in0, M, block, i, n);
            x0[u] = select_f32(first_lanes(n), z0, x0[u]);
        }
        softmax_rows_fold_carry(level0, turns, 0, x0);
        turns++;
    }
    return softmax_rows_fold_close(level0, turns);
}

static f32 softmax_rows_fold_chunks(const f32 *restrict in0, i64 M, i64 block, i64 lo, i64 hi, i64 unit) {
    vf32 level0[9][64 / W];
    vf32 x0[64 / W];
    f32 part0[64];
    i64 count = (hi - lo + unit - 1) / unit, run = (count + 63) / 64;
    int turns = 0;
    for (; turns < run; turns++) {
        for (int u = 0; u < 64 / W; u++) store_f32(part0 + u * W, all_f32(-__builtin_inff()), W);
        for (int j = 0; j < 64; j++) {
            i64 k = turns * (i64)64 + j;
            if (k >= count) break;
            i64 from = lo + k * unit, to = hi - from < unit ? hi : from + unit;
            part0[j] = unit == 16384 ? softmax_rows_fold_chunk(in0, M, block, from, to) : softmax_rows_fold_chunks(in0, M, block, from, to, unit / 16384);
        }
        for (int u = 0; u < 64 / W; u++) {
            x0[u] = load_f32(part0 + u * W, W);
        }
        softmax_rows_fold_carry(level0, turns, 0, x0);
    }
    return softmax_rows_fold_close(level0, turns);
}

static inline f32 softmax_rows_fold(const f32 *restrict in0, i64 M, i64 block, i64 lo, i64 hi) {
    if (hi - lo <= 16384) return softmax_rows_fold_chunk(in0, M, block, lo, hi);
    i64 unit = 16384;
    while ((hi - lo - 1) / unit >= 16384) unit *= 16384;
    return softmax_rows_fold_chunks(in0, M, block, lo, hi, unit);
}

FN vf32 softmax_rows_fold2_value(const f32 *restrict in0, f32 *restrict row, i64 M, i64 block, f32 fold1, i64 i, int n) {
    vf32 v2 = exp_f32(load_f32(in0 + block * M + i, n) - fold1);
    store_f32(row + i, v2, n);
    return v2;
}

FN void softmax_rows_fold2_carry(vf32 (*level0)[64 / W], int turns, int l, vf32 *x0) {
    for (; turns >> l & 1; l++) {
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            p0 = p0 + x0[u];
            x0[u] = p0;
        }
    }
    WAYS(u, 64 / W) level0[l][u] = x0[u];
}

static inline void softmax_rows_fold2_tree(f32 *part0) {
    for (int w = 32; w > 0; w /= 2) {
        for (int j = 0; j < w; j += W) {
            int m = w - j < W ? w - j : W;
            vf32 p0 = load_f32(part0 + j, m);
            vf32 q0 = load_f32(part0 + w + j, m);
            p0 = p0 + q0;
            store_f32(part0 + j, p0, m);
        }
    }
}

static inline f32 softmax_rows_fold2_close(vf32 (*level0)[64 / W], int turns) {
    vf32 x0[64 / W];
    WAYS(u, 64 / W) {
        x0[u] = all_f32(0.0f);
    }
    for (int l = 0; turns >> l; l++) {
        if (!(turns >> l & 1)) continue;
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            p0 = p0 + x0[u];
            x0[u] = p0;
        }
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, x0[u], W);
    softmax_rows_fold2_tree(part0);
    return part0[0];
}

static inline f32 softmax_rows_fold2_chunk(const f32 *restrict in0, f32 *restrict row, i64 M, i64 block, f32 fold1, i64 lo, i64 hi) {
    vf32 level0[9][64 / W];
    vf32 x0[64 / W];
    int turns = 0;
    i64 i = lo;
    for (; i + 64 <= hi; i += 64, turns += 1) {
        WAYS(u, 64 / W) {
            vf32 x0_0 = softmax_rows_fold2_value(in0, row, M, block, fold1, i + u * W, W);
            x0[u] = x0_0;
        }
        softmax_rows_fold2_carry(level0, turns, 0, x0);
    }
    if (i < hi) {
        for (int u = 0; u < 64 / W; u++, i += W) {
            x0[u] = all_f32(0.0f);
            if (i >= hi) continue;
            int n = hi - i < W ? (int)(hi - i) : W;
            vf32 z0 = softmax_rows_fold2_value(in0, row, M, block, fold1, i, n);
            x0[u] = select_f32(first_lanes(n), z0, x0[u]);
        }
        softmax_rows_fold2_carry(level0, turns, 0, x0);
        turns++;
    }
    return softmax_rows_fold2_close(level0, turns);
}

static f32 softmax_rows_fold2_chunks(const f32 *restrict in0, f32 *restrict row, i64 M, i64 block, f32 fold1, i64 lo, i64 hi, i64 unit) {
    vf32 level0[9][64 / W];
    vf32 x0[64 / W];
    f32 part0[64];
    i64 count = (hi - lo + unit - 1) / unit, run = (count + 63) / 64;
    int turns = 0;
    for (; turns < run; turns++) {
        for (int u = 0; u < 64 / W; u++) store_f32(part0 + u * W, all_f32(0.0f), W);
        for (int j = 0; j < 64; j++) {
            i64 k = turns * (i64)64 + j;
            if (k >= count) break;
            i64 from = lo + k * unit, to = hi - from < unit ? hi : from + unit;
            part0[j] = unit == 16384 ? softmax_rows_fold2_chunk(in0, row, M, block, fold1, from, to) : softmax_rows_fold2_chunks(in0, row, M, block, fold1, from, to, unit / 16384);
        }
        for (int u = 0; u < 64 / W; u++) {
            x0[u] = load_f32(part0 + u * W, W);
        }
        softmax_rows_fold2_carry(level0, turns, 0, x0);
    }
    return softmax_rows_fold2_close(level0, turns);
}

static inline f32 softmax_rows_fold2(const f32 *restrict in0, f32 *restrict row, i64 M, i64 block, f32 fold1, i64 lo, i64 hi) {
    if (hi - lo <= 16384) return softmax_rows_fold2_chunk(in0, row, M, block, fold1, lo, hi);
    i64 unit = 16384;
    while ((hi - lo - 1) / unit >= 16384) unit *= 16384;
    return softmax_rows_fold2_chunks(in0, row, M, block, fold1, lo, hi, unit);
}

FN void softmax_rows_lanes(f32 *restrict out0, f32 *restrict row, i64 M, int past, i64 block, f32 fold3, i64 i, int n) {
    vf32 v4 = load_f32(row + i, n);
    stream_f32(out0 + block * M + i, div_all_f32(v4, fold3), n, past);
}

// softmax_rows
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    f32 *restrict row = scratch[0];
    i64 M = sizes[1];
    int past = (int)sizes[2];
    for (i64 block = begin; block < end; block++) {
        f32 fold1 = softmax_rows_fold(in0, M, block, 0, M);
        f32 fold3 = softmax_rows_fold2(in0, row, M, block, fold1, 0, M);
        i64 j5 = 0;
        for (; j5 + W <= M; j5 += W) softmax_rows_lanes(out0, row, M, past, block, fold3, j5, W);
        if (j5 < M) softmax_rows_lanes(out0, row, M, past, block, fold3, j5, (int)(M - j5));
    }
    stream_end(past);
}
