FN void moments_fold_fold_join(vf32 *left0, vf32 *left1, vf32 *left2, vf32 b0, vf32 b1, vf32 b2) {
    vf32 a0 = *left0;
    vf32 a1 = *left1;
    vf32 a2 = *left2;
    vf32 v2 = a0 + b0;
    vf32 v3 = b1 - a1;
    vf32 v4 = select_f32(v2 > 0.0f, b0 / v2, all_f32(0.0f));
    *left0 = v2;
    *left1 = a1 + v3 * v4;
    *left2 = a2 + b2 + v3 * v3 * a0 * v4;
}

FN void moments_fold_fold_value(const f32 *restrict in0, vi32 at, vi32 live, vf32 *y0, vf32 *y1, vf32 *y2) {
    *y0 = all_f32(1.0f);
    *y1 = gather_f32(in0, at, live);
    *y2 = all_f32(0.0f);
}

static inline void moments_fold_fold_tree(f32 *part0, f32 *part1, f32 *part2) {
    for (int w = 32; w > 0; w /= 2) {
        f32 next0[32];
        f32 next1[32];
        f32 next2[32];
        for (int j = 0; j < w; j++) { next0[j] = part0[2 * j + 1], part0[j] = part0[2 * j]; next1[j] = part1[2 * j + 1], part1[j] = part1[2 * j]; next2[j] = part2[2 * j + 1], part2[j] = part2[2 * j]; }
        for (int j = 0; j < w; j += W) {
            int m = w - j < W ? w - j : W;
            vf32 p0 = load_f32(part0 + j, m);
            vf32 p1 = load_f32(part1 + j, m);
            vf32 p2 = load_f32(part2 + j, m);
            vf32 q0 = load_f32(next0 + j, m);
            vf32 q1 = load_f32(next1 + j, m);
            vf32 q2 = load_f32(next2 + j, m);
            moments_fold_fold_join(&p0, &p1, &p2, q0, q1, q2);
            store_f32(part0 + j, p0, m);
            store_f32(part1 + j, p1, m);
            store_f32(part2 + j, p2, m);
        }
    }
}

static inline void moments_fold_fold_chunk(const f32 *restrict in0, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    vf32 acc0[64 / W];
    for (int u = 0; u < 64 / W; u++) acc0[u] = all_f32(0.0f);
    vf32 acc1[64 / W];
    for (int u = 0; u < 64 / W; u++) acc1[u] = all_f32(0.0f);
    vf32 acc2[64 / W];
    for (int u = 0; u < 64 / W; u++) acc2[u] = all_f32(0.0f);
    i64 run = (hi - lo + 63) / 64;
    for (int u = 0; u < 64 / W; u++) {
        vi32 at = all_i32((i32)lo) + (iota_i32() + (i32)(u * W)) * (i32)run;
        vi32 end = min_i32(at + (i32)run, all_i32((i32)hi));
        for (i64 s = 0; s < run; s++, at += 1) {
            vi32 live = lt_i32(at, end);
            vf32 old0 = acc0[u];
            vf32 old1 = acc1[u];
            vf32 old2 = acc2[u];
            vf32 x0;
            vf32 x1;
            vf32 x2;
            moments_fold_fold_value(in0, at, live, &x0, &x1, &x2);
            moments_fold_fold_join(&acc0[u], &acc1[u], &acc2[u], x0, x1, x2);
            acc0[u] = select_f32(live, acc0[u], old0);
            acc1[u] = select_f32(live, acc1[u], old1);
            acc2[u] = select_f32(live, acc2[u], old2);
        }
    }
    f32 part0[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part0 + u * W, acc0[u], W);
    f32 part1[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part1 + u * W, acc1[u], W);
    f32 part2[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part2 + u * W, acc2[u], W);
    moments_fold_fold_tree(part0, part1, part2);
    *y0 = part0[0];
    *y1 = part1[0];
    *y2 = part2[0];
}

// moments_fold
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict tmp1 = memories[0];
    f32 *restrict tmp2 = memories[1];
    f32 *restrict tmp3 = memories[2];
    const f32 *restrict in0 = memories[3];
    i64 N = sizes[0];
    for (i64 block = begin; block < end; block++) {
        i64 v1 = block * 16384;
        f32 fold5;
        f32 fold6;
        f32 fold7;
        moments_fold_fold_chunk(in0, v1, s_min_i64(v1 + 16384, N), &fold5, &fold6, &fold7);
        tmp1[block] = fold5;
        tmp2[block] = fold6;
        tmp3[block] = fold7;
    }
}

FN void moments_fold_parts_fold_join(vf32 *left0, vf32 *left1, vf32 *left2, vf32 b0, vf32 b1, vf32 b2) {
    vf32 a0 = *left0;
    vf32 a1 = *left1;
    vf32 a2 = *left2;
    vf32 v1 = a0 + b0;
    vf32 v2 = b1 - a1;
    vf32 v3 = select_f32(v1 > 0.0f, b0 / v1, all_f32(0.0f));
    *left0 = v1;
    *left1 = a1 + v2 * v3;
    *left2 = a2 + b2 + v2 * v2 * a0 * v3;
}

FN void moments_fold_parts_fold_value(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, vi32 at, vi32 live, vf32 *y0, vf32 *y1, vf32 *y2) {
    *y0 = gather_f32(tmp1, at, live);
    *y1 = gather_f32(tmp2, at, live);
    *y2 = gather_f32(tmp3, at, live);
}

static inline void moments_fold_parts_fold_tree(f32 *part0, f32 *part1, f32 *part2) {
    for (int w = 32; w > 0; w /= 2) {
        f32 next0[32];
        f32 next1[32];
        f32 next2[32];
        for (int j = 0; j < w; j++) { next0[j] = part0[2 * j + 1], part0[j] = part0[2 * j]; next1[j] = part1[2 * j + 1], part1[j] = part1[2 * j]; next2[j] = part2[2 * j + 1], part2[j] = part2[2 * j]; }
        for (int j = 0; j < w; j += W) {
            int m = w - j < W ? w - j : W;
            vf32 p0 = load_f32(part0 + j, m);
            vf32 p1 = load_f32(part1 + j, m);
            vf32 p2 = load_f32(part2 + j, m);
            vf32 q0 = load_f32(next0 + j, m);
            vf32 q1 = load_f32(next1 + j, m);
            vf32 q2 = load_f32(next2 + j, m);
            moments_fold_parts_fold_join(&p0, &p1, &p2, q0, q1, q2);
            store_f32(part0 + j, p0, m);
            store_f32(part1 + j, p1, m);
            store_f32(part2 + j, p2, m);
        }
    }
}

static inline void moments_fold_parts_fold_chunk(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    vf32 acc0[64 / W];
    for (int u = 0; u < 64 / W; u++) acc0[u] = all_f32(0.0f);
    vf32 acc1[64 / W];
    for (int u = 0; u < 64 / W; u++) acc1[u] = all_f32(0.0f);
    vf32 acc2[64 / W];
    for (int u = 0; u < 64 / W; u++) acc2[u] = all_f32(0.0f);
    i64 run = (hi - lo + 63) / 64;
    for (int u = 0; u < 64 / W; u++) {
        vi32 at = all_i32((i32)lo) + (iota_i32() + (i32)(u * W)) * (i32)run;
        vi32 end = min_i32(at + (i32)run, all_i32((i32)hi));
        for (i64 s = 0; s < run; s++, at += 1) {
            vi32 live = lt_i32(at, end);
            vf32 old0 = acc0[u];
            vf32 old1 = acc1[u];
            vf32 old2 = acc2[u];
            vf32 x0;
            vf32 x1;
            vf32 x2;
            moments_fold_parts_fold_value(tmp1, tmp2, tmp3, at, live, &x0, &x1, &x2);
            moments_fold_parts_fold_join(&acc0[u], &acc1[u], &acc2[u], x0, x1, x2);
            acc0[u] = select_f32(live, acc0[u], old0);
            acc1[u] = select_f32(live, acc1[u], old1);
            acc2[u] = select_f32(live, acc2[u], old2);
        }
    }
    f32 part0[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part0 + u * W, acc0[u], W);
    f32 part1[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part1 + u * W, acc1[u], W);
    f32 part2[64];
    for (int u = 0; u < 64 / W; u++) store_f32(part2 + u * W, acc2[u], W);
    moments_fold_parts_fold_tree(part0, part1, part2);
    *y0 = part0[0];
    *y1 = part1[0];
    *y2 = part2[0];
}

static inline void moments_fold_parts_fold(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    i64 chunks = (hi - lo + 16383) / 16384;
    if (chunks <= 1) {
        moments_fold_parts_fold_chunk(tmp1, tmp2, tmp3, lo, hi, y0, y1, y2);
        return;
    }
    f32 part0[64];
    for (int j = 0; j < 64; j += W) store_f32(part0 + j, all_f32(0.0f), W);
    f32 part1[64];
    for (int j = 0; j < 64; j += W) store_f32(part1 + j, all_f32(0.0f), W);
    f32 part2[64];
    for (int j = 0; j < 64; j += W) store_f32(part2 + j, all_f32(0.0f), W);
    i64 run = (chunks + 63) / 64;
    for (i64 c = 0; c < chunks; c++) {
        i64 from = lo + c * 16384, to = from + 16384 < hi ? from + 16384 : hi;
        i64 slot = c / run;
        f32 one0;
        f32 one1;
        f32 one2;
        moments_fold_parts_fold_chunk(tmp1, tmp2, tmp3, from, to, &one0, &one1, &one2);
        vf32 p0 = load_f32(part0 + slot, 1);
        vf32 p1 = load_f32(part1 + slot, 1);
        vf32 p2 = load_f32(part2 + slot, 1);
        vf32 q0 = all_f32(one0);
        vf32 q1 = all_f32(one1);
        vf32 q2 = all_f32(one2);
        moments_fold_parts_fold_join(&p0, &p1, &p2, q0, q1, q2);
        store_f32(part0 + slot, p0, 1);
        store_f32(part1 + slot, p1, 1);
        store_f32(part2 + slot, p2, 1);
    }
    moments_fold_parts_fold_tree(part0, part1, part2);
    *y0 = part0[0];
    *y1 = part1[0];
    *y2 = part2[0];
}

// moments_fold_parts
void slyz_kernel_1(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict tmp4 = memories[0];
    f32 *restrict out0 = memories[1];
    f32 *restrict tmp6 = memories[2];
    const f32 *restrict tmp1 = memories[3];
    const f32 *restrict tmp2 = memories[4];
    const f32 *restrict tmp3 = memories[5];
    i64 N = sizes[0];
    for (i64 block = begin; block < end; block++) {
        f32 fold4;
        f32 fold5;
        f32 fold6;
        moments_fold_parts_fold(tmp1, tmp2, tmp3, 0, (N + 16383) / 16384, &fold4, &fold5, &fold6);
        tmp4[0] = fold4;
        out0[0] = fold5;
        tmp6[0] = fold6;
    }
}

// moments_scalar
void slyz_kernel_2(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out1 = memories[0];
    const f32 *restrict tmp6 = memories[1];
    const f32 *restrict tmp4 = memories[2];
    for (i64 block = begin; block < end; block++) {
        out1[0] = tmp6[0] / tmp4[0];
    }
}
