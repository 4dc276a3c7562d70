FN void tiledMatmul_lanes(f32 *restrict kept5, i64 v4, i64 i, int n) {
    store_f32(kept5 + i + v4, all_f32(0.0f), n);
}

FN void tiledMatmul_lanes2(const f32 *restrict A, const f32 *restrict B, f32 *restrict As, f32 *restrict Bs, i64 A_len, i64 B_len, i64 block_x, i64 block_y, i64 v1, i64 v8, i64 k9, i64 v10, i64 v11, i64 i, int n) {
    i64 v12 = i + v10;
    i64 v13 = i + ((block_y * 16 + k9) * v1 + v8);
    vf32 s14 = all_f32(0.0f);
    vi32 m15 = first_lanes(n) & narrow_mask((vi64)(iota_i64() + v13 >= (i64)0) & (vi64)(iota_i64() + v13 < A_len));
    if (any(m15)) {
        s14 = select_f32(m15, load_masked_f32(A + v13, m15), s14);
    }
    store_f32(As + v12, s14, n);
    i64 v16 = i + block_x * 16 + v11;
    vf32 s17 = all_f32(0.0f);
    vi32 m18 = first_lanes(n) & (~next_lt(v16, 0) & next_lt(v16, B_len));
    if (any(m18)) {
        s17 = select_f32(m18, load_masked_f32(B + v16, m18), s17);
    }
    store_f32(Bs + v12, s17, n);
}

FN void tiledMatmul_lanes3(f32 *restrict As, f32 *restrict Bs, f32 *restrict kept5, i64 v21, i64 v22, i64 v23, i64 v24, i64 v25, i64 v26, i64 v27, i64 v28, i64 i, int n) {
    i64 v29 = i + v21;
    i64 v30 = i + v22;
    i64 v31 = i + v23;
    i64 v32 = i + v24;
    i64 v33 = i + v25;
    i64 v34 = i + v26;
    i64 v35 = i + v27;
    i64 v36 = i + v28;
    vf32 v37 = load_f32(kept5 + v29, n);
    vf32 v38 = load_f32(kept5 + v30, n);
    vf32 v39 = load_f32(kept5 + v31, n);
    vf32 v40 = load_f32(kept5 + v32, n);
    vf32 v41 = load_f32(kept5 + v33, n);
    vf32 v42 = load_f32(kept5 + v34, n);
    vf32 v43 = load_f32(kept5 + v35, n);
    vf32 v44 = load_f32(kept5 + v36, n);
    vf32 s45 = v37;
    vf32 s46 = v38;
    vf32 s47 = v39;
    vf32 s48 = v40;
    vf32 s49 = v41;
    vf32 s50 = v42;
    vf32 s51 = v43;
    vf32 s52 = v44;
    for (i64 k53 = 0; k53 < 16; k53++) {
        f32 v54 = As[v21 + k53];
        f32 v55 = As[v22 + k53];
        f32 v56 = As[v23 + k53];
        f32 v57 = As[v24 + k53];
        f32 v58 = As[v25 + k53];
        f32 v59 = As[v26 + k53];
        f32 v60 = As[v27 + k53];
        f32 v61 = As[v28 + k53];
        vf32 v62 = load_f32(Bs + i + k53 * 16, n);
        s45 = s45 + v54 * v62;
        s46 = s46 + v55 * v62;
        s47 = s47 + v56 * v62;
        s48 = s48 + v57 * v62;
        s49 = s49 + v58 * v62;
        s50 = s50 + v59 * v62;
        s51 = s51 + v60 * v62;
        s52 = s52 + v61 * v62;
    }
    store_f32(kept5 + v29, s45, n);
    store_f32(kept5 + v30, s46, n);
    store_f32(kept5 + v31, s47, n);
    store_f32(kept5 + v32, s48, n);
    store_f32(kept5 + v33, s49, n);
    store_f32(kept5 + v34, s50, n);
    store_f32(kept5 + v35, s51, n);
    store_f32(kept5 + v36, s52, n);
}

FN void tiledMatmul_lanes4(f32 *restrict C, f32 *restrict kept5, i64 C_len, i64 v65, i64 v69, i64 v70, i64 i, int n) {
    vf32 v71 = load_f32(kept5 + i + v69, n);
    i64 v72 = i + v65 + v70;
    vi32 m73 = first_lanes(n) & narrow_mask((vi64)(iota_i64() + v72 >= (i64)0) & (vi64)(iota_i64() + v72 < C_len));
    if (any(m73)) {
        store_masked_f32(C + v72, v71, m73);
    }
}

// tiledMatmul
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    const f32 *restrict A = memories[0];
    const f32 *restrict B = memories[1];
    f32 *restrict C = memories[2];
    f32 *restrict As = scratch[0];
    f32 *restrict Bs = scratch[1];
    f32 *restrict kept5 = scratch[2];
    i64 grid_x_size = sizes[0];
    i64 grid_y_size = sizes[1];
    i64 A_len = sizes[6];
    i64 B_len = sizes[7];
    i64 C_len = sizes[8];
    i32 arg_M = (i32)scalars[0];
    i32 arg_N = (i32)scalars[1];
    i32 arg_K = (i32)scalars[2];
    i64 grid_x = grid_x_size;
    i64 grid_y = grid_y_size;
    for (i64 block = begin; block < end; block++) {
        i64 block_x = block % grid_x;
        i64 block_y = block / grid_x % grid_y;
        i64 v1 = (i64)arg_K;
        i64 v2 = (i64)arg_N;
        for (i64 k3 = 0; k3 < 16; k3++) {
            i64 v4 = k3 * 16;
            i64 j5 = 0;
            for (; j5 + W <= 16; j5 += W) tiledMatmul_lanes(kept5, v4, j5, W);
            if (j5 < 16) tiledMatmul_lanes(kept5, v4, j5, (int)(16 - j5));
        }
        i64 end7 = s_div_i64(v1, 16);
        for (i64 tile_6 = 0; tile_6 < end7; tile_6++) {
            i64 v8 = tile_6 * 16;
            for (i64 k9 = 0; k9 < 16; k9++) {
                i64 v10 = k9 * 16;
                i64 v11 = (v8 + k9) * v2;
                i64 j19 = 0;
                for (; j19 + W <= 16; j19 += W) tiledMatmul_lanes2(A, B, As, Bs, A_len, B_len, block_x, block_y, v1, v8, k9, v10, v11, j19, W);
                if (j19 < 16) tiledMatmul_lanes2(A, B, As, Bs, A_len, B_len, block_x, block_y, v1, v8, k9, v10, v11, j19, (int)(16 - j19));
            }
            for (i64 k20 = 0; k20 < 16; k20 += 8) {
                i64 v21 = k20 * 16;
                i64 v22 = (k20 + 1) * 16;
                i64 v23 = (k20 + 2) * 16;
                i64 v24 = (k20 + 3) * 16;
                i64 v25 = (k20 + 4) * 16;
                i64 v26 = (k20 + 5) * 16;
                i64 v27 = (k20 + 6) * 16;
                i64 v28 = (k20 + 7) * 16;
                i64 j63 = 0;
                for (; j63 + W <= 16; j63 += W) tiledMatmul_lanes3(As, Bs, kept5, v21, v22, v23, v24, v25, v26, v27, v28, j63, W);
                if (j63 < 16) tiledMatmul_lanes3(As, Bs, kept5, v21, v22, v23, v24, v25, v26, v27, v28, j63, (int)(16 - j63));
            }
        }
        i64 v64 = block_y * 16;
        i64 v65 = block_x * 16;
        i64 v66 = s_min_i64(16, v2 - v65);
        i64 end68 = s_min_i64(16, (i64)arg_M - v64);
        for (i64 k67 = 0; k67 < end68; k67++) {
            i64 v69 = k67 * 16;
            i64 v70 = (v64 + k67) * v2;
            i64 j74 = 0;
            for (; j74 + W <= v66; j74 += W) tiledMatmul_lanes4(C, kept5, C_len, v65, v69, v70, j74, W);
            if (j74 < v66) tiledMatmul_lanes4(C, kept5, C_len, v65, v69, v70, j74, (int)(v66 - j74));
        }
    }
}
