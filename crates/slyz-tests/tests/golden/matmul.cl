// Positions have 32 bits: arrays have fewer than 2^31 elements.

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void matmul(
    global const float* restrict a,
    global const float* restrict b,
    global float* restrict output,
    uint N,
    uint K,
    uint M
) {
    local float left3[1088];
    local float right4[1088];
    const uint lid_x = get_local_id(0);
    const uint gid_x = get_group_id(0);
    const uint gid_y = get_group_id(1);
    uint end = (N + 63u) / 64u;
    uint stride = min((N + 63u) / 64u, 65535u);
    for (uint i = gid_y; i < end; i += stride) {
        uint end2 = (M + 63u) / 64u;
        uint stride2 = min((M + 63u) / 64u, 2147483647u);
        for (uint j = gid_x; j < end2; j += stride2) {
            uint at = j * 64u;
            uint at2 = i * 64u;
            uint at3 = lid_x / 16u;
            uint at4 = at3 * 4u;
            uint at5 = lid_x % 16u;
            uint at6 = at5 * 4u;
            float acc = 0.0f;
            float acc2 = 0.0f;
            float acc3 = 0.0f;
            float acc4 = 0.0f;
            float acc5 = 0.0f;
            float acc6 = 0.0f;
            float acc7 = 0.0f;
            float acc8 = 0.0f;
            float acc9 = 0.0f;
            float acc10 = 0.0f;
            float acc11 = 0.0f;
            float acc12 = 0.0f;
            float acc13 = 0.0f;
            float acc14 = 0.0f;
            float acc15 = 0.0f;
            float acc16 = 0.0f;
            for (uint k = 0u; k < K; k += 256u) {
                uint at7 = min(k + 256u, K);
                float acc17 = 0.0f;
                float acc18 = 0.0f;
                float acc19 = 0.0f;
                float acc20 = 0.0f;
                float acc21 = 0.0f;
                float acc22 = 0.0f;
                float acc23 = 0.0f;
                float acc24 = 0.0f;
                float acc25 = 0.0f;
                float acc26 = 0.0f;
                float acc27 = 0.0f;
                float acc28 = 0.0f;
                float acc29 = 0.0f;
                float acc30 = 0.0f;
                float acc31 = 0.0f;
                float acc32 = 0.0f;
                for (uint l = k; l < at7; l += 16u) {
                    uint at8 = max(N, 1u) - 1u;
                    uint at9 = max(K, 1u) - 1u;
                    uint at10 = min(l + at5, at9);
                    uint at11 = at3 + 16u;
                    uint at12 = at3 + 32u;
                    uint at13 = at3 + 48u;
                    uint at14 = lid_x % 64u;
                    uint at15 = lid_x / 64u;
                    uint at16 = min(at + at14, max(M, 1u) - 1u);
                    uint at17 = at15 + 4u;
                    uint at18 = at15 + 8u;
                    uint at19 = at15 + 12u;
                    left3[at5 * 68u + at3] = a[min(at2 + at3, at8) * K + at10];
                    left3[at5 * 68u + at11] = a[min(at2 + at11, at8) * K + at10];
                    left3[at5 * 68u + at12] = a[min(at2 + at12, at8) * K + at10];
                    left3[at5 * 68u + at13] = a[min(at2 + at13, at8) * K + at10];
                    right4[at15 * 68u + at14] = b[min(l + at15, at9) * M + at16];
                    right4[at17 * 68u + at14] = b[min(l + at17, at9) * M + at16];
                    right4[at18 * 68u + at14] = b[min(l + at18, at9) * M + at16];
                    right4[at19 * 68u + at14] = b[min(l + at19, at9) * M + at16];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    int at20 = (int)at7 - (int)l;
                    if (at20 >= 16) {
                        for (uint i2 = 0u; i2 < 16u; i2 += 4u) {
                            float x = left3[i2 * 68u + at4];
                            uint at21 = at4 + 1u;
                            float x2 = left3[i2 * 68u + at21];
                            uint at22 = at4 + 2u;
                            float x3 = left3[i2 * 68u + at22];
                            uint at23 = at4 + 3u;
                            float x4 = left3[i2 * 68u + at23];
                            float x5 = right4[i2 * 68u + at6];
                            uint at24 = at6 + 1u;
                            float x6 = right4[i2 * 68u + at24];
                            uint at25 = at6 + 2u;
                            float x7 = right4[i2 * 68u + at25];
                            uint at26 = at6 + 3u;
                            float x8 = right4[i2 * 68u + at26];
                            uint at27 = i2 + 1u;
                            float x9 = left3[at27 * 68u + at4];
                            float x10 = left3[at27 * 68u + at21];
                            float x11 = left3[at27 * 68u + at22];
                            float x12 = left3[at27 * 68u + at23];
                            float x13 = right4[at27 * 68u + at6];
                            float x14 = right4[at27 * 68u + at24];
                            float x15 = right4[at27 * 68u + at25];
                            float x16 = right4[at27 * 68u + at26];
                            uint at28 = i2 + 2u;
                            float x17 = left3[at28 * 68u + at4];
                            float x18 = left3[at28 * 68u + at21];
                            float x19 = left3[at28 * 68u + at22];
                            float x20 = left3[at28 * 68u + at23];
                            float x21 = right4[at28 * 68u + at6];
                            float x22 = right4[at28 * 68u + at24];
                            float x23 = right4[at28 * 68u + at25];
                            float x24 = right4[at28 * 68u + at26];
                            uint at29 = i2 + 3u;
                            float x25 = left3[at29 * 68u + at4];
                            float x26 = left3[at29 * 68u + at21];
                            float x27 = left3[at29 * 68u + at22];
                            float x28 = left3[at29 * 68u + at23];
                            float x29 = right4[at29 * 68u + at6];
                            float x30 = right4[at29 * 68u + at24];
                            float x31 = right4[at29 * 68u + at25];
                            float x32 = right4[at29 * 68u + at26];
                            acc17 = fma(x25, x29, fma(x17, x21, fma(x9, x13, fma(x, x5, acc17))));
                            acc18 = fma(x25, x30, fma(x17, x22, fma(x9, x14, fma(x, x6, acc18))));
                            acc19 = fma(x25, x31, fma(x17, x23, fma(x9, x15, fma(x, x7, acc19))));
                            acc20 = fma(x25, x32, fma(x17, x24, fma(x9, x16, fma(x, x8, acc20))));
                            acc21 = fma(x26, x29, fma(x18, x21, fma(x10, x13, fma(x2, x5, acc21))));
                            acc22 = fma(x26, x30, fma(x18, x22, fma(x10, x14, fma(x2, x6, acc22))));
                            acc23 = fma(x26, x31, fma(x18, x23, fma(x10, x15, fma(x2, x7, acc23))));
                            acc24 = fma(x26, x32, fma(x18, x24, fma(x10, x16, fma(x2, x8, acc24))));
                            acc25 = fma(x27, x29, fma(x19, x21, fma(x11, x13, fma(x3, x5, acc25))));
                            acc26 = fma(x27, x30, fma(x19, x22, fma(x11, x14, fma(x3, x6, acc26))));
                            acc27 = fma(x27, x31, fma(x19, x23, fma(x11, x15, fma(x3, x7, acc27))));
                            acc28 = fma(x27, x32, fma(x19, x24, fma(x11, x16, fma(x3, x8, acc28))));
                            acc29 = fma(x28, x29, fma(x20, x21, fma(x12, x13, fma(x4, x5, acc29))));
                            acc30 = fma(x28, x30, fma(x20, x22, fma(x12, x14, fma(x4, x6, acc30))));
                            acc31 = fma(x28, x31, fma(x20, x23, fma(x12, x15, fma(x4, x7, acc31))));
                            acc32 = fma(x28, x32, fma(x20, x24, fma(x12, x16, fma(x4, x8, acc32))));
                        }
                    } else {
                        for (int i2 = 0; i2 < at20; ++i2) {
                            float x33 = left3[i2 * 68u + at4];
                            float x34 = left3[i2 * 68u + (at4 + 1u)];
                            float x35 = left3[i2 * 68u + (at4 + 2u)];
                            float x36 = left3[i2 * 68u + (at4 + 3u)];
                            float x37 = right4[i2 * 68u + at6];
                            float x38 = right4[i2 * 68u + (at6 + 1u)];
                            float x39 = right4[i2 * 68u + (at6 + 2u)];
                            float x40 = right4[i2 * 68u + (at6 + 3u)];
                            acc17 = fma(x33, x37, acc17);
                            acc18 = fma(x33, x38, acc18);
                            acc19 = fma(x33, x39, acc19);
                            acc20 = fma(x33, x40, acc20);
                            acc21 = fma(x34, x37, acc21);
                            acc22 = fma(x34, x38, acc22);
                            acc23 = fma(x34, x39, acc23);
                            acc24 = fma(x34, x40, acc24);
                            acc25 = fma(x35, x37, acc25);
                            acc26 = fma(x35, x38, acc26);
                            acc27 = fma(x35, x39, acc27);
                            acc28 = fma(x35, x40, acc28);
                            acc29 = fma(x36, x37, acc29);
                            acc30 = fma(x36, x38, acc30);
                            acc31 = fma(x36, x39, acc31);
                            acc32 = fma(x36, x40, acc32);
                        }
                    }
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                acc += acc17;
                acc2 += acc18;
                acc3 += acc19;
                acc4 += acc20;
                acc5 += acc21;
                acc6 += acc22;
                acc7 += acc23;
                acc8 += acc24;
                acc9 += acc25;
                acc10 += acc26;
                acc11 += acc27;
                acc12 += acc28;
                acc13 += acc29;
                acc14 += acc30;
                acc15 += acc31;
                acc16 += acc32;
            }
            uint at30 = at2 + at4;
            uint at31 = at + at6;
            uint at32 = at + (at6 + 1u);
            uint at33 = at + (at6 + 2u);
            uint at34 = at + (at6 + 3u);
            uint at35 = at2 + (at4 + 1u);
            uint at36 = at2 + (at4 + 2u);
            uint at37 = at2 + (at4 + 3u);
            bool is = at30 < N;
            bool is2 = at31 < M;
            if (is && is2) output[at30 * M + at31] = acc;
            bool is3 = at32 < M;
            if (is && is3) output[at30 * M + at32] = acc2;
            bool is4 = at33 < M;
            if (is && is4) output[at30 * M + at33] = acc3;
            bool is5 = at34 < M;
            if (is && is5) output[at30 * M + at34] = acc4;
            bool is6 = at35 < N;
            if (is6 && is2) output[at35 * M + at31] = acc5;
            if (is6 && is3) output[at35 * M + at32] = acc6;
            if (is6 && is4) output[at35 * M + at33] = acc7;
            if (is6 && is5) output[at35 * M + at34] = acc8;
            bool is7 = at36 < N;
            if (is7 && is2) output[at36 * M + at31] = acc9;
            if (is7 && is3) output[at36 * M + at32] = acc10;
            if (is7 && is4) output[at36 * M + at33] = acc11;
            if (is7 && is5) output[at36 * M + at34] = acc12;
            bool is8 = at37 < N;
            if (is8 && is2) output[at37 * M + at31] = acc13;
            if (is8 && is3) output[at37 * M + at32] = acc14;
            if (is8 && is4) output[at37 * M + at33] = acc15;
            if (is8 && is5) output[at37 * M + at34] = acc16;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
