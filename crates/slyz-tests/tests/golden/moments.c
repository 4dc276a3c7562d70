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

FN void moments_fold_fold_carry(vf32 (*level0)[64 / W], vf32 (*level1)[64 / W], vf32 (*level2)[64 / W], int turns, int l, vf32 *x0, vf32 *x1, vf32 *x2) {
    for (; turns >> l & 1; l++) {
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            vf32 p1 = level1[l][u];
            vf32 p2 = level2[l][u];
            moments_fold_fold_join(&p0, &p1, &p2, x0[u], x1[u], x2[u]);
            x0[u] = p0;
            x1[u] = p1;
            x2[u] = p2;
        }
    }
    WAYS(u, 64 / W) level0[l][u] = x0[u];
    WAYS(u, 64 / W) level1[l][u] = x1[u];
    WAYS(u, 64 / W) level2[l][u] = x2[u];
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

static inline void moments_fold_fold_close(vf32 (*level0)[64 / W], vf32 (*level1)[64 / W], vf32 (*level2)[64 / W], int turns, f32 *y0, f32 *y1, f32 *y2) {
    vf32 x0[64 / W];
    vf32 x1[64 / W];
    vf32 x2[64 / W];
    WAYS(u, 64 / W) {
        x0[u] = all_f32(0.0f);
        x1[u] = all_f32(0.0f);
        x2[u] = all_f32(0.0f);
    }
    for (int l = 0; turns >> l; l++) {
        if (!(turns >> l & 1)) continue;
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            vf32 p1 = level1[l][u];
            vf32 p2 = level2[l][u];
            moments_fold_fold_join(&p0, &p1, &p2, x0[u], x1[u], x2[u]);
            x0[u] = p0;
            x1[u] = p1;
            x2[u] = p2;
        }
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, x0[u], W);
    f32 part1[64];
    WAYS(u, 64 / W) store_f32(part1 + u * W, x1[u], W);
    f32 part2[64];
    WAYS(u, 64 / W) store_f32(part2 + u * W, x2[u], W);
    moments_fold_fold_tree(part0, part1, part2);
    *y0 = part0[0];
    *y1 = part1[0];
    *y2 = part2[0];
}

static inline void moments_fold_fold_chunk(const f32 *restrict in0, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    vf32 level0[9][64 / W];
    vf32 level1[9][64 / W];
    vf32 level2[9][64 / W];
    vf32 x0[64 / W];
    vf32 x1[64 / W];
    vf32 x2[64 / W];
    int turns = 0;
    i64 run = (hi - lo + 63) / 64;
    for (; turns < run; turns++) {
        for (int u = 0; u < 64 / W; u++) {
            vi32 first = all_i32((i32)lo) + (iota_i32() + (i32)(u * W)) * (i32)run;
            vi32 at = first + (i32)turns, end = min_i32(first + (i32)run, all_i32((i32)hi));
            vi32 live = lt_i32(at, end);
            vf32 z0;
            vf32 z1;
            vf32 z2;
            moments_fold_fold_value(in0, at, live, &z0, &z1, &z2);
            x0[u] = all_f32(0.0f);
            x1[u] = all_f32(0.0f);
            x2[u] = all_f32(0.0f);
            x0[u] = select_f32(live, z0, x0[u]);
            x1[u] = select_f32(live, z1, x1[u]);
            x2[u] = select_f32(live, z2, x2[u]);
        }
        moments_fold_fold_carry(level0, level1, level2, turns, 0, x0, x1, x2);
    }
    moments_fold_fold_close(level0, level1, level2, turns, y0, y1, y2);
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

FN void moments_fold_parts_fold_carry(vf32 (*level0)[64 / W], vf32 (*level1)[64 / W], vf32 (*level2)[64 / W], int turns, int l, vf32 *x0, vf32 *x1, vf32 *x2) {
    for (; turns >> l & 1; l++) {
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            vf32 p1 = level1[l][u];
            vf32 p2 = level2[l][u];
            moments_fold_parts_fold_join(&p0, &p1, &p2, x0[u], x1[u], x2[u]);
            x0[u] = p0;
            x1[u] = p1;
            x2[u] = p2;
        }
    }
    WAYS(u, 64 / W) level0[l][u] = x0[u];
    WAYS(u, 64 / W) level1[l][u] = x1[u];
    WAYS(u, 64 / W) level2[l][u] = x2[u];
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

static inline void moments_fold_parts_fold_close(vf32 (*level0)[64 / W], vf32 (*level1)[64 / W], vf32 (*level2)[64 / W], int turns, f32 *y0, f32 *y1, f32 *y2) {
    vf32 x0[64 / W];
    vf32 x1[64 / W];
    vf32 x2[64 / W];
    WAYS(u, 64 / W) {
        x0[u] = all_f32(0.0f);
        x1[u] = all_f32(0.0f);
        x2[u] = all_f32(0.0f);
    }
    for (int l = 0; turns >> l; l++) {
        if (!(turns >> l & 1)) continue;
        WAYS(u, 64 / W) {
            vf32 p0 = level0[l][u];
            vf32 p1 = level1[l][u];
            vf32 p2 = level2[l][u];
            moments_fold_parts_fold_join(&p0, &p1, &p2, x0[u], x1[u], x2[u]);
            x0[u] = p0;
            x1[u] = p1;
            x2[u] = p2;
        }
    }
    f32 part0[64];
    WAYS(u, 64 / W) store_f32(part0 + u * W, x0[u], W);
    f32 part1[64];
    WAYS(u, 64 / W) store_f32(part1 + u * W, x1[u], W);
    f32 part2[64];
    WAYS(u, 64 / W) store_f32(part2 + u * W, x2[u], W);
    moments_fold_parts_fold_tree(part0, part1, part2);
    *y0 = part0[0];
    *y1 = part1[0];
    *y2 = part2[0];
}

static inline void moments_fold_parts_fold_chunk(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    vf32 level0[9][64 / W];
    vf32 level1[9][64 / W];
    vf32 level2[9][64 / W];
    vf32 x0[64 / W];
    vf32 x1[64 / W];
    vf32 x2[64 / W];
    int turns = 0;
    i64 run = (hi - lo + 63) / 64;
    for (; turns < run; turns++) {
        for (int u = 0; u < 64 / W; u++) {
            vi32 first = all_i32((i32)lo) + (iota_i32() + (i32)(u * W)) * (i32)run;
            vi32 at = first + (i32)turns, end = min_i32(first + (i32)run, all_i32((i32)hi));
            vi32 live = lt_i32(at, end);
            vf32 z0;
            vf32 z1;
            vf32 z2;
            moments_fold_parts_fold_value(tmp1, tmp2, tmp3, at, live, &z0, &z1, &z2);
            x0[u] = all_f32(0.0f);
            x1[u] = all_f32(0.0f);
            x2[u] = all_f32(0.0f);
            x0[u] = select_f32(live, z0, x0[u]);
            x1[u] = select_f32(live, z1, x1[u]);
            x2[u] = select_f32(live, z2, x2[u]);
        }
        moments_fold_parts_fold_carry(level0, level1, level2, turns, 0, x0, x1, x2);
    }
    moments_fold_parts_fold_close(level0, level1, level2, turns, y0, y1, y2);
}

static void moments_fold_parts_fold_chunks(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, i64 lo, i64 hi, i64 unit, f32 *y0, f32 *y1, f32 *y2) {
    vf32 level0[9][64 / W];
    vf32 level1[9][64 / W];
    vf32 level2[9][64 / W];
    vf32 x0[64 / W];
    vf32 x1[64 / W];
    vf32 x2[64 / W];
    f32 part0[64];
    f32 part1[64];
    f32 part2[64];
    i64 count = (hi - lo + unit - 1) / unit, run = (count + 63) / 64;
    int turns = 0;
    for (; turns < run; turns++) {
        for (int u = 0; u < 64 / W; u++) store_f32(part0 + u * W, all_f32(0.0f), W);
        for (int u = 0; u < 64 / W; u++) store_f32(part1 + u * W, all_f32(0.0f), W);
        for (int u = 0; u < 64 / W; u++) store_f32(part2 + u * W, all_f32(0.0f), W);
        for (int j = 0; j < 64; j++) {
            i64 k = j * run + turns;
            if (k >= count) break;
            i64 from = lo + k * unit, to = hi - from < unit ? hi : from + unit;
            if (unit == 16384) moments_fold_parts_fold_chunk(tmp1, tmp2, tmp3, from, to, &part0[j], &part1[j], &part2[j]);
            else moments_fold_parts_fold_chunks(tmp1, tmp2, tmp3, from, to, unit / 16384, &part0[j], &part1[j], &part2[j]);
        }
        for (int u = 0; u < 64 / W; u++) {
            x0[u] = load_f32(part0 + u * W, W);
            x1[u] = load_f32(part1 + u * W, W);
            x2[u] = load_f32(part2 + u * W, W);
        }
        moments_fold_parts_fold_carry(level0, level1, level2, turns, 0, x0, x1, x2);
    }
    moments_fold_parts_fold_close(level0, level1, level2, turns, y0, y1, y2);
}

static inline void moments_fold_parts_fold(const f32 *restrict tmp1, const f32 *restrict tmp2, const f32 *restrict tmp3, i64 lo, i64 hi, f32 *y0, f32 *y1, f32 *y2) {
    if (hi - lo <= 16384) {
        moments_fold_parts_fold_chunk(tmp1, tmp2, tmp3, lo, hi, y0, y1, y2);
        return;
    }
    i64 unit = 16384;
    while ((hi - lo - 1) / unit >= 16384) unit *= 16384;
    moments_fold_parts_fold_chunks(tmp1, tmp2, tmp3, lo, hi, unit, y0, y1, y2);
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
