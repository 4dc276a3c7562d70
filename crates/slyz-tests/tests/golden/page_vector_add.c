FN void vectorAdd_lanes(const f32 *restrict a, const f32 *restrict b, f32 *restrict result, i64 a_len_size, i64 b_len_size, int past, i64 i, int n) {
    vi32 v2 = iota_i32() + (i32)i >= all_i32(0);
    vf32 s3 = all_f32(0.0f);
    vi32 m4 = first_lanes(n) & (v2 & (iota_i32() + (i32)i < all_i32((i32)a_len_size)));
    if (any(m4)) {
        s3 = select_f32(m4, load_masked_f32(a + i, m4), s3);
    }
    vf32 s5 = all_f32(0.0f);
    vi32 m6 = first_lanes(n) & (v2 & (iota_i32() + (i32)i < all_i32((i32)b_len_size)));
    if (any(m6)) {
        s5 = select_f32(m6, load_masked_f32(b + i, m6), s5);
    }
    stream_f32(result + i, s3 + s5, n, past);
}

// vectorAdd
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    const f32 *restrict a = memories[0];
    const f32 *restrict b = memories[1];
    f32 *restrict result = memories[2];
    i64 threads_x_size = sizes[3];
    i64 a_len_size = sizes[6];
    i64 b_len_size = sizes[7];
    i64 result_len_size = sizes[8];
    int past = (int)sizes[9];
    i64 grid_x = (threads_x_size + 16383) / 16384;
    for (i64 block = begin; block < end; block++) {
        i64 block_x = block % grid_x;
        i64 v1 = block_x * 16384;
        i64 end7 = s_min_i64(s_min_i64(v1 + 16384, threads_x_size), result_len_size);
        i64 j8 = v1;
        for (; j8 + W <= end7; j8 += W) vectorAdd_lanes(a, b, result, a_len_size, b_len_size, past, j8, W);
        if (j8 < end7) vectorAdd_lanes(a, b, result, a_len_size, b_len_size, past, j8, (int)(end7 - j8));
    }
    stream_end(past);
}
