// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) matmul(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ output,
    unsigned N,
    unsigned K,
    unsigned M
) {
    __shared__ float left3[1088];
    __shared__ float right4[1088];
    unsigned end = (N + 63u) / 64u;
    unsigned stride = min((N + 63u) / 64u, 65535u);
    for (unsigned i = blockIdx.y; i < end; i += stride) {
        unsigned end2 = (M + 63u) / 64u;
        unsigned stride2 = min((M + 63u) / 64u, 2147483647u);
        for (unsigned j = blockIdx.x; j < end2; j += stride2) {
            unsigned at = j * 64u;
            unsigned at2 = i * 64u;
            unsigned at3 = threadIdx.x / 16u;
            unsigned at4 = at3 * 4u;
            unsigned at5 = threadIdx.x % 16u;
            unsigned at6 = at5 * 4u;
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
            for (unsigned k = 0u; k < K; k += 256u) {
                unsigned at7 = min(k + 256u, K);
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
                for (unsigned l = k; l < at7; l += 16u) {
                    unsigned at8 = max(N, 1u) - 1u;
                    unsigned at9 = max(K, 1u) - 1u;
                    unsigned at10 = min(l + at5, at9);
                    unsigned at11 = at3 + 16u;
                    unsigned at12 = at3 + 32u;
                    unsigned at13 = at3 + 48u;
                    unsigned at14 = threadIdx.x % 64u;
                    unsigned at15 = threadIdx.x / 64u;
                    unsigned at16 = min(at + at14, max(M, 1u) - 1u);
                    unsigned at17 = at15 + 4u;
                    unsigned at18 = at15 + 8u;
                    unsigned at19 = at15 + 12u;
                    left3[at5 * 68u + at3] = a[min(at2 + at3, at8) * K + at10];
                    left3[at5 * 68u + at11] = a[min(at2 + at11, at8) * K + at10];
                    left3[at5 * 68u + at12] = a[min(at2 + at12, at8) * K + at10];
                    left3[at5 * 68u + at13] = a[min(at2 + at13, at8) * K + at10];
                    right4[at15 * 68u + at14] = b[min(l + at15, at9) * M + at16];
                    right4[at17 * 68u + at14] = b[min(l + at17, at9) * M + at16];
                    right4[at18 * 68u + at14] = b[min(l + at18, at9) * M + at16];
                    right4[at19 * 68u + at14] = b[min(l + at19, at9) * M + at16];
                    __syncthreads();
                    int at20 = (int)at7 - (int)l;
                    if (at20 >= 16) {
                        for (unsigned i2 = 0u; i2 < 16u; i2 += 4u) {
                            float x = left3[i2 * 68u + at4];
                            unsigned at21 = at4 + 1u;
                            float x2 = left3[i2 * 68u + at21];
                            unsigned at22 = at4 + 2u;
                            float x3 = left3[i2 * 68u + at22];
                            unsigned at23 = at4 + 3u;
                            float x4 = left3[i2 * 68u + at23];
                            float x5 = right4[i2 * 68u + at6];
                            unsigned at24 = at6 + 1u;
                            float x6 = right4[i2 * 68u + at24];
                            unsigned at25 = at6 + 2u;
                            float x7 = right4[i2 * 68u + at25];
                            unsigned at26 = at6 + 3u;
                            float x8 = right4[i2 * 68u + at26];
                            unsigned at27 = i2 + 1u;
                            float x9 = left3[at27 * 68u + at4];
                            float x10 = left3[at27 * 68u + at21];
                            float x11 = left3[at27 * 68u + at22];
                            float x12 = left3[at27 * 68u + at23];
                            float x13 = right4[at27 * 68u + at6];
                            float x14 = right4[at27 * 68u + at24];
                            float x15 = right4[at27 * 68u + at25];
                            float x16 = right4[at27 * 68u + at26];
                            unsigned at28 = i2 + 2u;
                            float x17 = left3[at28 * 68u + at4];
                            float x18 = left3[at28 * 68u + at21];
                            float x19 = left3[at28 * 68u + at22];
                            float x20 = left3[at28 * 68u + at23];
                            float x21 = right4[at28 * 68u + at6];
                            float x22 = right4[at28 * 68u + at24];
                            float x23 = right4[at28 * 68u + at25];
                            float x24 = right4[at28 * 68u + at26];
                            unsigned at29 = i2 + 3u;
                            float x25 = left3[at29 * 68u + at4];
                            float x26 = left3[at29 * 68u + at21];
                            float x27 = left3[at29 * 68u + at22];
                            float x28 = left3[at29 * 68u + at23];
                            float x29 = right4[at29 * 68u + at6];
                            float x30 = right4[at29 * 68u + at24];
                            float x31 = right4[at29 * 68u + at25];
                            float x32 = right4[at29 * 68u + at26];
                            acc17 = fmaf(x25, x29, fmaf(x17, x21, fmaf(x9, x13, fmaf(x, x5, acc17))));
                            acc18 = fmaf(x25, x30, fmaf(x17, x22, fmaf(x9, x14, fmaf(x, x6, acc18))));
                            acc19 = fmaf(x25, x31, fmaf(x17, x23, fmaf(x9, x15, fmaf(x, x7, acc19))));
                            acc20 = fmaf(x25, x32, fmaf(x17, x24, fmaf(x9, x16, fmaf(x, x8, acc20))));
                            acc21 = fmaf(x26, x29, fmaf(x18, x21, fmaf(x10, x13, fmaf(x2, x5, acc21))));
                            acc22 = fmaf(x26, x30, fmaf(x18, x22, fmaf(x10, x14, fmaf(x2, x6, acc22))));
                            acc23 = fmaf(x26, x31, fmaf(x18, x23, fmaf(x10, x15, fmaf(x2, x7, acc23))));
                            acc24 = fmaf(x26, x32, fmaf(x18, x24, fmaf(x10, x16, fmaf(x2, x8, acc24))));
                            acc25 = fmaf(x27, x29, fmaf(x19, x21, fmaf(x11, x13, fmaf(x3, x5, acc25))));
                            acc26 = fmaf(x27, x30, fmaf(x19, x22, fmaf(x11, x14, fmaf(x3, x6, acc26))));
                            acc27 = fmaf(x27, x31, fmaf(x19, x23, fmaf(x11, x15, fmaf(x3, x7, acc27))));
                            acc28 = fmaf(x27, x32, fmaf(x19, x24, fmaf(x11, x16, fmaf(x3, x8, acc28))));
                            acc29 = fmaf(x28, x29, fmaf(x20, x21, fmaf(x12, x13, fmaf(x4, x5, acc29))));
                            acc30 = fmaf(x28, x30, fmaf(x20, x22, fmaf(x12, x14, fmaf(x4, x6, acc30))));
                            acc31 = fmaf(x28, x31, fmaf(x20, x23, fmaf(x12, x15, fmaf(x4, x7, acc31))));
                            acc32 = fmaf(x28, x32, fmaf(x20, x24, fmaf(x12, x16, fmaf(x4, x8, acc32))));
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
                            acc17 = fmaf(x33, x37, acc17);
                            acc18 = fmaf(x33, x38, acc18);
                            acc19 = fmaf(x33, x39, acc19);
                            acc20 = fmaf(x33, x40, acc20);
                            acc21 = fmaf(x34, x37, acc21);
                            acc22 = fmaf(x34, x38, acc22);
                            acc23 = fmaf(x34, x39, acc23);
                            acc24 = fmaf(x34, x40, acc24);
                            acc25 = fmaf(x35, x37, acc25);
                            acc26 = fmaf(x35, x38, acc26);
                            acc27 = fmaf(x35, x39, acc27);
                            acc28 = fmaf(x35, x40, acc28);
                            acc29 = fmaf(x36, x37, acc29);
                            acc30 = fmaf(x36, x38, acc30);
                            acc31 = fmaf(x36, x39, acc31);
                            acc32 = fmaf(x36, x40, acc32);
                        }
                    }
                    __syncthreads();
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
            unsigned at30 = at2 + at4;
            unsigned at31 = at + at6;
            unsigned at32 = at + (at6 + 1u);
            unsigned at33 = at + (at6 + 2u);
            unsigned at34 = at + (at6 + 3u);
            unsigned at35 = at2 + (at4 + 1u);
            unsigned at36 = at2 + (at4 + 2u);
            unsigned at37 = at2 + (at4 + 3u);
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
            __syncthreads();
        }
    }
}
