FN void matmulKernel_lanes(const f32 *restrict A, const f32 *restrict B, f32 *restrict C, i64 A_len, i64 B_len, i64 C_len, i64 v3, i64 v4, i64 v8, i64 v9, i64 i, int n) {
    vf32 sum_10[4];
    WAYS(u, 4) sum_10[u] = all_f32(0.0f);
    for (i64 k_11 = 0; k_11 < v4; k_11++) {
        i64 v12 = v8 + k_11;
        vf32 s13[4];
        WAYS(u, 4) s13[u] = (vf32){0};
        if ((v12 >= 0) & (v12 < A_len)) {
            WAYS(u, 4) s13[u] = all_f32(A[v12]);
        }
        else {
            WAYS(u, 4) s13[u] = all_f32(0.0f);
        }
        i64 v14[4];
        WAYS(u, 4) v14[u] = i + u * W + k_11 * v3;
        vf32 s15[4];
        WAYS(u, 4) s15[u] = all_f32(0.0f);
        vi32 m16[4];
        WAYS(u, 4) m16[u] = first_lanes(lanes_left(n, u)) & (~next_lt(v14[u], 0) & next_lt(v14[u], B_len));
        if (any_of(m16, 4)) {
            WAYS(u, 4) s15[u] = select_f32(m16[u], load_masked_f32(B + v14[u], m16[u]), s15[u]);
        }
        WAYS(u, 4) sum_10[u] = sum_10[u] + s13[u] * s15[u];
    }
    i64 v17[4];
    WAYS(u, 4) v17[u] = i + u * W + v9;
    vi32 m18[4];
    WAYS(u, 4) m18[u] = first_lanes(lanes_left(n, u)) & (~next_lt(v17[u], 0) & next_lt(v17[u], C_len));
    if (any_of(m18, 4)) {
        WAYS(u, 4) store_masked_f32(C + v17[u], sum_10[u], m18[u]);
    }
}

// matmulKernel
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    const f32 *restrict A = memories[0];
    const f32 *restrict B = memories[1];
    f32 *restrict C = memories[2];
    i64 threads_x_size = sizes[3];
    i64 threads_y_size = sizes[4];
    i64 A_len = sizes[6];
    i64 B_len = sizes[7];
    i64 C_len = sizes[8];
    i32 arg_M = (i32)scalars[0];
    i32 arg_N = (i32)scalars[1];
    i32 arg_K = (i32)scalars[2];
    i64 grid_x = (threads_x_size + 511) / 512;
    i64 grid_y = (threads_y_size + 3) / 4;
    for (i64 block = begin; block < end; block++) {
        i64 block_x = block % grid_x;
        i64 block_y = block / grid_x % grid_y;
        i64 v1 = block_x * 512;
        i64 v2 = block_y * 4;
        i64 v3 = (i64)arg_N;
        i64 v4 = (i64)arg_K;
        i64 v5 = s_min_i64(s_min_i64(v1 + 512, threads_x_size), v3);
        i64 end7 = s_min_i64(s_min_i64(v2 + 4, threads_y_size), (i64)arg_M);
        for (i64 k6 = v2; k6 < end7; k6++) {
            i64 v8 = k6 * v4;
            i64 v9 = k6 * v3;
            i64 j19 = v1;
            for (; j19 + 4 * W <= v5; j19 += 4 * W) matmulKernel_lanes(A, B, C, A_len, B_len, C_len, v3, v4, v8, v9, j19, 4 * W);
            if (j19 < v5) matmulKernel_lanes(A, B, C, A_len, B_len, C_len, v3, v4, v8, v9, j19, (int)(v5 - j19));
        }
    }
}
