FN vf32 softmax_rows_fold_value(const f32 *restrict in0, i64 M, i64 block, i64 i, int n) {
    return load_f32(in0 + block * M + i, n);
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

static inline f32 softmax_rows_fold_chunk(const f32 *restrict in0, i64 M, i64 block, i64 lo, i64 hi) {
    vf32 acc0[64 / W];
    WAYS(u, 64 / W) acc0[u] = all_f32(-__builtin_inff());
    i64 i = lo;
    for (; i + 64 <= hi; i += 64) {
        WAYS(u, 64 / W) {
            vf32 x0 = softmax_rows_fold_value(in0, M, block, i + u * W, W);
            acc0[u] = max_f32(acc0[u], x0);
        }
    }
    for (int u = 0; i < hi; u++, i += W) {
        int n = hi - i < W ? (int)(hi - i) : W;
        vf32 old0 = acc0[u];
        vf32 x0 = softmax_rows_fold_value(in0, M, block, i, n);
        acc0[u] = max_f32(acc0[u], x0);
        acc0[u] = select_f32(first_lanes(n), acc0[u], old0);
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, acc0[u], W);
    softmax_rows_fold_tree(part0);
    return part0[0];
}

static inline f32 softmax_rows_fold(const f32 *restrict in0, i64 M, i64 block, i64 lo, i64 hi) {
    i64 chunks = (hi - lo + 16383) / 16384;
    if (chunks <= 1) return softmax_rows_fold_chunk(in0, M, block, lo, hi);
    f32 part0[64];
    for (int j = 0; j < 64; j += W) store_f32(part0 + j, all_f32(-__builtin_inff()), W);
    for (i64 c = 0; c < chunks; c++) {
        i64 from = lo + c * 16384, to = from + 16384 < hi ? from + 16384 : hi;
        i64 slot = c % 64;
        f32 one0 = softmax_rows_fold_chunk(in0, M, block, from, to);
        vf32 p0 = load_f32(part0 + slot, 1);
        vf32 q0 = all_f32(one0);
        p0 = max_f32(p0, q0);
        store_f32(part0 + slot, p0, 1);
    }
    softmax_rows_fold_tree(part0);
    return part0[0];
}

FN vf32 softmax_rows_fold2_value(const f32 *restrict in0, f32 *restrict row2, i64 M, i64 block, f32 fold1, i64 i, int n) {
    vf32 v2 = exp_f32(load_f32(in0 + block * M + i, n) - fold1);
    store_f32(row2 + i, v2, n);
    return v2;
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

static inline f32 softmax_rows_fold2_chunk(const f32 *restrict in0, f32 *restrict row2, i64 M, i64 block, f32 fold1, i64 lo, i64 hi) {
    vf32 acc0[64 / W];
    WAYS(u, 64 / W) acc0[u] = all_f32(0.0f);
    i64 i = lo;
    for (; i + 64 <= hi; i += 64) {
        WAYS(u, 64 / W) {
            vf32 x0 = softmax_rows_fold2_value(in0, row2, M, block, fold1, i + u * W, W);
            acc0[u] = acc0[u] + x0;
        }
    }
    for (int u = 0; i < hi; u++, i += W) {
        int n = hi - i < W ? (int)(hi - i) : W;
        vf32 old0 = acc0[u];
        vf32 x0 = softmax_rows_fold2_value(in0, row2, M, block, fold1, i, n);
        acc0[u] = acc0[u] + x0;
        acc0[u] = select_f32(first_lanes(n), acc0[u], old0);
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, acc0[u], W);
    softmax_rows_fold2_tree(part0);
    return part0[0];
}

static inline f32 softmax_rows_fold2(const f32 *restrict in0, f32 *restrict row2, i64 M, i64 block, f32 fold1, i64 lo, i64 hi) {
    i64 chunks = (hi - lo + 16383) / 16384;
    if (chunks <= 1) return softmax_rows_fold2_chunk(in0, row2, M, block, fold1, lo, hi);
    f32 part0[64];
    for (int j = 0; j < 64; j += W) store_f32(part0 + j, all_f32(0.0f), W);
    for (i64 c = 0; c < chunks; c++) {
        i64 from = lo + c * 16384, to = from + 16384 < hi ? from + 16384 : hi;
        i64 slot = c % 64;
        f32 one0 = softmax_rows_fold2_chunk(in0, row2, M, block, fold1, from, to);
        vf32 p0 = load_f32(part0 + slot, 1);
        vf32 q0 = all_f32(one0);
        p0 = p0 + q0;
        store_f32(part0 + slot, p0, 1);
    }
    softmax_rows_fold2_tree(part0);
    return part0[0];
}

FN void softmax_rows_lanes(f32 *restrict out0, f32 *restrict row2, i64 M, int past, i64 block, f32 fold3, i64 i, int n) {
    vf32 v4 = load_f32(row2 + i, n);
    stream_f32(out0 + block * M + i, div_all_f32(v4, fold3), n, past);
}

// softmax_rows
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    f32 *restrict row2 = scratch[0];
    i64 M = sizes[1];
    int past = (int)sizes[2];
    for (i64 block = begin; block < end; block++) {
        f32 fold1 = softmax_rows_fold(in0, M, block, 0, M);
        f32 fold3 = softmax_rows_fold2(in0, row2, M, block, fold1, 0, M);
        i64 j5 = 0;
        for (; j5 + W <= M; j5 += W) softmax_rows_lanes(out0, row2, M, past, block, fold3, j5, W);
        if (j5 < M) softmax_rows_lanes(out0, row2, M, past, block, fold3, j5, (int)(M - j5));
    }
    stream_end(past);
}
