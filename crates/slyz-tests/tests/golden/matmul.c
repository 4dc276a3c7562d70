FN void matmul_product_lanes(const f32 *restrict in0, f32 *restrict left, i64 K, i64 v6, i64 k8, i64 k11, i64 i, int n) {
    store_f32(left + (k11 - v6) * 256 + (i - k8), load_f32(in0 + k11 * K + i, n), n);
}

FN void matmul_product_lanes2(f32 *restrict left, i64 v15, i64 k16, i64 i, int n) {
    vf32 v18 = load_f32(left + v15 * 256 + i, n);
    store_f32(left + k16 * 256 + i, v18, n);
}

FN void matmul_product_lanes3(const f32 *restrict in1, f32 *restrict right, i64 M, i64 k8, i64 k20, i64 k21, i64 v23, i64 i, int n) {
    store_f32(right + k21 * 16384 + (k20 - k8) * 64 + (i - v23), load_f32(in1 + k20 * M + i, n), n);
}

FN void matmul_product_lanes4(f32 *restrict out0, f32 *restrict left, f32 *restrict right, i64 M, i64 v2, i64 v6, i64 v7, i64 k8, i64 v26, i64 k28, i64 v32, i64 k33, i64 i, int n) {
    i64 v34 = k33 + 0;
    i64 v35 = k33 + 1;
    i64 v36 = k33 + 2;
    i64 v37 = k33 + 3;
    i64 v38 = k33 + 4;
    i64 v39 = k33 + 5;
    vf32 s40[ROOM];
    WAYS(u, ROOM) s40[u] = all_f32(0.0f);
    vf32 s41[ROOM];
    WAYS(u, ROOM) s41[u] = all_f32(0.0f);
    vf32 s42[ROOM];
    WAYS(u, ROOM) s42[u] = all_f32(0.0f);
    vf32 s43[ROOM];
    WAYS(u, ROOM) s43[u] = all_f32(0.0f);
    vf32 s44[ROOM];
    WAYS(u, ROOM) s44[u] = all_f32(0.0f);
    vf32 s45[ROOM];
    WAYS(u, ROOM) s45[u] = all_f32(0.0f);
    for (i64 k46 = 0; k46 < v26; k46++) {
        vf32 v47[ROOM];
        WAYS(u, ROOM) v47[u] = load_f32(right + k28 * 16384 + k46 * 64 + (i + u * W), lanes_left(n, u));
        f32 v48 = left[v34 * 256 + k46];
        f32 v49 = left[v35 * 256 + k46];
        f32 v50 = left[v36 * 256 + k46];
        f32 v51 = left[v37 * 256 + k46];
        f32 v52 = left[v38 * 256 + k46];
        f32 v53 = left[v39 * 256 + k46];
        WAYS(u, ROOM) s40[u] = fma_f32(all_f32(v48), v47[u], s40[u]);
        WAYS(u, ROOM) s41[u] = fma_f32(all_f32(v49), v47[u], s41[u]);
        WAYS(u, ROOM) s42[u] = fma_f32(all_f32(v50), v47[u], s42[u]);
        WAYS(u, ROOM) s43[u] = fma_f32(all_f32(v51), v47[u], s43[u]);
        WAYS(u, ROOM) s44[u] = fma_f32(all_f32(v52), v47[u], s44[u]);
        WAYS(u, ROOM) s45[u] = fma_f32(all_f32(v53), v47[u], s45[u]);
    }
    i64 v54[ROOM];
    WAYS(u, ROOM) v54[u] = i + u * W + v32;
    i64 v55 = s_min_i64(v6 + v34, v7 - 1);
    i64 v56[ROOM];
    WAYS(u, ROOM) v56[u] = v54[u] + v2;
    i64 v57 = s_min_i64(v6 + v35, v7 - 1);
    i64 v58[ROOM];
    WAYS(u, ROOM) v58[u] = v54[u] + v2;
    i64 v59 = s_min_i64(v6 + v36, v7 - 1);
    i64 v60[ROOM];
    WAYS(u, ROOM) v60[u] = v54[u] + v2;
    i64 v61 = s_min_i64(v6 + v37, v7 - 1);
    i64 v62[ROOM];
    WAYS(u, ROOM) v62[u] = v54[u] + v2;
    i64 v63 = s_min_i64(v6 + v38, v7 - 1);
    i64 v64[ROOM];
    WAYS(u, ROOM) v64[u] = v54[u] + v2;
    i64 v65 = s_min_i64(v6 + v39, v7 - 1);
    i64 v66[ROOM];
    WAYS(u, ROOM) v66[u] = v54[u] + v2;
    vf32 s67[ROOM];
    WAYS(u, ROOM) s67[u] = (vf32){0};
    vf32 s68[ROOM];
    WAYS(u, ROOM) s68[u] = (vf32){0};
    vf32 s69[ROOM];
    WAYS(u, ROOM) s69[u] = (vf32){0};
    vf32 s70[ROOM];
    WAYS(u, ROOM) s70[u] = (vf32){0};
    vf32 s71[ROOM];
    WAYS(u, ROOM) s71[u] = (vf32){0};
    vf32 s72[ROOM];
    WAYS(u, ROOM) s72[u] = (vf32){0};
    if (k8 == 0) {
        WAYS(u, ROOM) s67[u] = all_f32(0.0f);
        WAYS(u, ROOM) s68[u] = all_f32(0.0f);
        WAYS(u, ROOM) s69[u] = all_f32(0.0f);
        WAYS(u, ROOM) s70[u] = all_f32(0.0f);
        WAYS(u, ROOM) s71[u] = all_f32(0.0f);
        WAYS(u, ROOM) s72[u] = all_f32(0.0f);
    }
    else {
        vf32 v73[ROOM];
        WAYS(u, ROOM) v73[u] = load_f32(out0 + v55 * M + v56[u], lanes_left(n, u));
        vf32 v74[ROOM];
        WAYS(u, ROOM) v74[u] = load_f32(out0 + v57 * M + v58[u], lanes_left(n, u));
        vf32 v75[ROOM];
        WAYS(u, ROOM) v75[u] = load_f32(out0 + v59 * M + v60[u], lanes_left(n, u));
        vf32 v76[ROOM];
        WAYS(u, ROOM) v76[u] = load_f32(out0 + v61 * M + v62[u], lanes_left(n, u));
        vf32 v77[ROOM];
        WAYS(u, ROOM) v77[u] = load_f32(out0 + v63 * M + v64[u], lanes_left(n, u));
        vf32 v78[ROOM];
        WAYS(u, ROOM) v78[u] = load_f32(out0 + v65 * M + v66[u], lanes_left(n, u));
        WAYS(u, ROOM) s67[u] = v73[u];
        WAYS(u, ROOM) s68[u] = v74[u];
        WAYS(u, ROOM) s69[u] = v75[u];
        WAYS(u, ROOM) s70[u] = v76[u];
        WAYS(u, ROOM) s71[u] = v77[u];
        WAYS(u, ROOM) s72[u] = v78[u];
    }
    WAYS(u, ROOM) store_f32(out0 + v55 * M + v56[u], s67[u] + s40[u], lanes_left(n, u));
    WAYS(u, ROOM) store_f32(out0 + v57 * M + v58[u], s68[u] + s41[u], lanes_left(n, u));
    WAYS(u, ROOM) store_f32(out0 + v59 * M + v60[u], s69[u] + s42[u], lanes_left(n, u));
    WAYS(u, ROOM) store_f32(out0 + v61 * M + v62[u], s70[u] + s43[u], lanes_left(n, u));
    WAYS(u, ROOM) store_f32(out0 + v63 * M + v64[u], s71[u] + s44[u], lanes_left(n, u));
    WAYS(u, ROOM) store_f32(out0 + v65 * M + v66[u], s72[u] + s45[u], lanes_left(n, u));
}

// matmul_product
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    f32 *restrict out0 = memories[0];
    const f32 *restrict in0 = memories[1];
    const f32 *restrict in1 = memories[2];
    f32 *restrict left = scratch[0];
    f32 *restrict right = scratch[1];
    i64 N = sizes[0];
    i64 K = sizes[1];
    i64 M = sizes[2];
    for (i64 block = begin; block < end; block++) {
        i64 v1 = (M + 511) / 512;
        i64 v2 = s_rem_i64(block, v1) * 512;
        i64 v3 = s_min_i64(v2 + 512, M);
        i64 v4 = s_max_i64((N + 131) / 132, 1) * 6;
        i64 v5 = s_div_i64(N + (v4 - 1), v4) * 6;
        i64 v6 = s_min_i64(s_div_i64(block, v1) * v5, N);
        i64 v7 = s_min_i64(v6 + v5, N);
        i64 end9 = s_max_i64(K, 1);
        for (i64 k8 = 0; k8 < end9; k8 += 256) {
            i64 v10 = s_min_i64(k8 + 256, K);
            for (i64 k11 = v6; k11 < v7; k11++) {
                i64 j12 = k8;
                for (; j12 + W <= v10; j12 += W) matmul_product_lanes(in0, left, K, v6, k8, k11, j12, W);
                if (j12 < v10) matmul_product_lanes(in0, left, K, v6, k8, k11, j12, (int)(v10 - j12));
            }
            i64 v13 = v10 - k8;
            i64 v14 = v7 - v6;
            i64 v15 = v14 - 1;
            i64 end17 = s_div_i64(v7 - v6 + 5, 6) * 6;
            for (i64 k16 = v14; k16 < end17; k16++) {
                i64 j19 = 0;
                for (; j19 + W <= v13; j19 += W) matmul_product_lanes2(left, v15, k16, j19, W);
                if (j19 < v13) matmul_product_lanes2(left, v15, k16, j19, (int)(v13 - j19));
            }
            for (i64 k20 = k8; k20 < v10; k20++) {
                i64 end22 = s_div_i64(v3 - v2 + 63, 64);
                for (i64 k21 = 0; k21 < end22; k21++) {
                    i64 v23 = v2 + k21 * 64;
                    i64 end24 = s_min_i64(v23 + 64, v3);
                    i64 j25 = v23;
                    for (; j25 + W <= end24; j25 += W) matmul_product_lanes3(in1, right, M, k8, k20, k21, v23, j25, W);
                    if (j25 < end24) matmul_product_lanes3(in1, right, M, k8, k20, k21, v23, j25, (int)(end24 - j25));
                }
            }
            i64 v26 = v10 - k8;
            i64 v27 = s_div_i64(v7 - v6 + 5, 6) * 6;
            i64 end29 = s_div_i64(v3 - v2 + 63, 64);
            for (i64 k28 = 0; k28 < end29; k28++) {
                i64 v30 = v2 + k28 * 64;
                i64 v31 = s_min_i64(v30 + 64, v3) - v30;
                i64 v32 = v30 - v2;
                for (i64 k33 = 0; k33 < v27; k33 += 6) {
                    i64 j79 = 0;
                    for (; j79 + ROOM * W <= v31; j79 += ROOM * W) matmul_product_lanes4(out0, left, right, M, v2, v6, v7, k8, v26, k28, v32, k33, j79, ROOM * W);
                    if (j79 < v31) matmul_product_lanes4(out0, left, right, M, v2, v6, v7, k8, v26, k28, v32, k33, j79, (int)(v31 - j79));
                }
            }
        }
    }
}
