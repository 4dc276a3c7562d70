FN void relu_lanes(const f32 *restrict input, f32 *restrict output, i64 input_len_size, int past, i64 i, int n) {
    vi32 v2 = (iota_i32() + (i32)i >= all_i32(0)) & (iota_i32() + (i32)i < all_i32((i32)input_len_size));
    vf32 s3 = all_f32(0.0f);
    vi32 m4 = first_lanes(n) & v2;
    if (any(m4)) {
        s3 = select_f32(m4, load_masked_f32(input + i, m4), s3);
    }
    stream_f32(output + i, max_f32(all_f32(0.0f), s3), n, past);
}

// relu
void slyz_kernel_0(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end) {
    (void)memories, (void)scratch, (void)scalars, (void)sizes;
    const f32 *restrict input = memories[0];
    f32 *restrict output = memories[1];
    i64 threads_x_size = sizes[3];
    i64 input_len_size = sizes[6];
    i64 output_len_size = sizes[7];
    int past = (int)sizes[8];
    i64 grid_x = (threads_x_size + 16383) / 16384;
    for (i64 block = begin; block < end; block++) {
        i64 block_x = block % grid_x;
        i64 v1 = block_x * 16384;
        i64 end5 = s_min_i64(s_min_i64(v1 + 16384, threads_x_size), output_len_size);
        i64 j6 = v1;
        for (; j6 + W <= end5; j6 += W) relu_lanes(input, output, input_len_size, past, j6, W);
        if (j6 < end5) relu_lanes(input, output, input_len_size, past, j6, (int)(end5 - j6));
    }
    stream_end(past);
}
