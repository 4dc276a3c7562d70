// Positions have 32 bits: arrays have fewer than 2^31 elements.

extern "C" __global__ void __launch_bounds__(256) matmul(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ output,
    unsigned N,
    unsigned K,
    unsigned M
) {
    __shared__ float left[1088];
    __shared__ float right[1088];
    unsigned end = (N + 63u) / 64u;
    unsigned stride = min((N + 63u) / 64u, 65535u);
    for (unsigned i = blockIdx.y; i < end; i += stride) {
        unsigned end2 = (M + 63u) / 64u;
        unsigned stride2 = min((M + 63u) / 64u, 2147483647u);
        for (unsigned j = blockIdx.x; j < end2; j += stride2) {
            unsigned start = j * 64u;
            unsigned start2 = i * 64u;
            unsigned row = threadIdx.x / 16u;
            unsigned start3 = row * 4u;
            unsigned column = threadIdx.x % 16u;
            unsigned start4 = column * 4u;
            float sum = 0.0f;
            float sum2 = 0.0f;
            float sum3 = 0.0f;
            float sum4 = 0.0f;
            float sum5 = 0.0f;
            float sum6 = 0.0f;
            float sum7 = 0.0f;
            float sum8 = 0.0f;
            float sum9 = 0.0f;
            float sum10 = 0.0f;
            float sum11 = 0.0f;
            float sum12 = 0.0f;
            float sum13 = 0.0f;
            float sum14 = 0.0f;
            float sum15 = 0.0f;
            float sum16 = 0.0f;
            for (unsigned k = 0u; k < K; k += 16u) {
                unsigned last = max(N, 1u) - 1u;
                unsigned last2 = max(K, 1u) - 1u;
                unsigned column2 = min(k + column, last2);
                unsigned column3 = threadIdx.x % 64u;
                unsigned row2 = threadIdx.x / 64u;
                unsigned column4 = min(start + column3, max(M, 1u) - 1u);
                left[column * 68u + row] = a[min(start2 + row, last) * K + column2];
                left[column * 68u + (row + 16u)] = a[min(start2 + (row + 16u), last) * K + column2];
                left[column * 68u + (row + 32u)] = a[min(start2 + (row + 32u), last) * K + column2];
                left[column * 68u + (row + 48u)] = a[min(start2 + (row + 48u), last) * K + column2];
                right[row2 * 68u + column3] = b[min(k + row2, last2) * M + column4];
                right[(row2 + 4u) * 68u + column3] = b[min(k + (row2 + 4u), last2) * M + column4];
                right[(row2 + 8u) * 68u + column3] = b[min(k + (row2 + 8u), last2) * M + column4];
                right[(row2 + 12u) * 68u + column3] = b[min(k + (row2 + 12u), last2) * M + column4];
                __syncthreads();
                int end3 = (int)K - (int)k;
                if (end3 >= 16) {
                    for (unsigned l = 0u; l < 16u; l += 4u) {
                        float left2 = left[l * 68u + start3];
                        float left3 = left[l * 68u + (start3 + 1u)];
                        float left4 = left[l * 68u + (start3 + 2u)];
                        float left5 = left[l * 68u + (start3 + 3u)];
                        float right2 = right[l * 68u + start4];
                        float right3 = right[l * 68u + (start4 + 1u)];
                        float right4 = right[l * 68u + (start4 + 2u)];
                        float right5 = right[l * 68u + (start4 + 3u)];
                        unsigned at = l + 1u;
                        float left6 = left[at * 68u + start3];
                        float left7 = left[at * 68u + (start3 + 1u)];
                        float left8 = left[at * 68u + (start3 + 2u)];
                        float left9 = left[at * 68u + (start3 + 3u)];
                        float right6 = right[at * 68u + start4];
                        float right7 = right[at * 68u + (start4 + 1u)];
                        float right8 = right[at * 68u + (start4 + 2u)];
                        float right9 = right[at * 68u + (start4 + 3u)];
                        unsigned at2 = l + 2u;
                        float left10 = left[at2 * 68u + start3];
                        float left11 = left[at2 * 68u + (start3 + 1u)];
                        float left12 = left[at2 * 68u + (start3 + 2u)];
                        float left13 = left[at2 * 68u + (start3 + 3u)];
                        float right10 = right[at2 * 68u + start4];
                        float right11 = right[at2 * 68u + (start4 + 1u)];
                        float right12 = right[at2 * 68u + (start4 + 2u)];
                        float right13 = right[at2 * 68u + (start4 + 3u)];
                        unsigned at3 = l + 3u;
                        float left14 = left[at3 * 68u + start3];
                        float left15 = left[at3 * 68u + (start3 + 1u)];
                        float left16 = left[at3 * 68u + (start3 + 2u)];
                        float left17 = left[at3 * 68u + (start3 + 3u)];
                        float right14 = right[at3 * 68u + start4];
                        float right15 = right[at3 * 68u + (start4 + 1u)];
                        float right16 = right[at3 * 68u + (start4 + 2u)];
                        float right17 = right[at3 * 68u + (start4 + 3u)];
                        sum = fmaf(left14, right14, fmaf(left10, right10, fmaf(left6, right6, fmaf(left2, right2, sum))));
                        sum2 = fmaf(left14, right15, fmaf(left10, right11, fmaf(left6, right7, fmaf(left2, right3, sum2))));
                        sum3 = fmaf(left14, right16, fmaf(left10, right12, fmaf(left6, right8, fmaf(left2, right4, sum3))));
                        sum4 = fmaf(left14, right17, fmaf(left10, right13, fmaf(left6, right9, fmaf(left2, right5, sum4))));
                        sum5 = fmaf(left15, right14, fmaf(left11, right10, fmaf(left7, right6, fmaf(left3, right2, sum5))));
                        sum6 = fmaf(left15, right15, fmaf(left11, right11, fmaf(left7, right7, fmaf(left3, right3, sum6))));
                        sum7 = fmaf(left15, right16, fmaf(left11, right12, fmaf(left7, right8, fmaf(left3, right4, sum7))));
                        sum8 = fmaf(left15, right17, fmaf(left11, right13, fmaf(left7, right9, fmaf(left3, right5, sum8))));
                        sum9 = fmaf(left16, right14, fmaf(left12, right10, fmaf(left8, right6, fmaf(left4, right2, sum9))));
                        sum10 = fmaf(left16, right15, fmaf(left12, right11, fmaf(left8, right7, fmaf(left4, right3, sum10))));
                        sum11 = fmaf(left16, right16, fmaf(left12, right12, fmaf(left8, right8, fmaf(left4, right4, sum11))));
                        sum12 = fmaf(left16, right17, fmaf(left12, right13, fmaf(left8, right9, fmaf(left4, right5, sum12))));
                        sum13 = fmaf(left17, right14, fmaf(left13, right10, fmaf(left9, right6, fmaf(left5, right2, sum13))));
                        sum14 = fmaf(left17, right15, fmaf(left13, right11, fmaf(left9, right7, fmaf(left5, right3, sum14))));
                        sum15 = fmaf(left17, right16, fmaf(left13, right12, fmaf(left9, right8, fmaf(left5, right4, sum15))));
                        sum16 = fmaf(left17, right17, fmaf(left13, right13, fmaf(left9, right9, fmaf(left5, right5, sum16))));
                    }
                } else {
                    for (int l = 0; l < end3; ++l) {
                        float left18 = left[l * 68u + start3];
                        float left19 = left[l * 68u + (start3 + 1u)];
                        float left20 = left[l * 68u + (start3 + 2u)];
                        float left21 = left[l * 68u + (start3 + 3u)];
                        float right18 = right[l * 68u + start4];
                        float right19 = right[l * 68u + (start4 + 1u)];
                        float right20 = right[l * 68u + (start4 + 2u)];
                        float right21 = right[l * 68u + (start4 + 3u)];
                        sum = fmaf(left18, right18, sum);
                        sum2 = fmaf(left18, right19, sum2);
                        sum3 = fmaf(left18, right20, sum3);
                        sum4 = fmaf(left18, right21, sum4);
                        sum5 = fmaf(left19, right18, sum5);
                        sum6 = fmaf(left19, right19, sum6);
                        sum7 = fmaf(left19, right20, sum7);
                        sum8 = fmaf(left19, right21, sum8);
                        sum9 = fmaf(left20, right18, sum9);
                        sum10 = fmaf(left20, right19, sum10);
                        sum11 = fmaf(left20, right20, sum11);
                        sum12 = fmaf(left20, right21, sum12);
                        sum13 = fmaf(left21, right18, sum13);
                        sum14 = fmaf(left21, right19, sum14);
                        sum15 = fmaf(left21, right20, sum15);
                        sum16 = fmaf(left21, right21, sum16);
                    }
                }
                __syncthreads();
            }
            unsigned row3 = start2 + start3;
            unsigned column5 = start + start4;
            unsigned column6 = start + (start4 + 1u);
            unsigned column7 = start + (start4 + 2u);
            unsigned column8 = start + (start4 + 3u);
            unsigned row4 = start2 + (start3 + 1u);
            unsigned row5 = start2 + (start3 + 2u);
            unsigned row6 = start2 + (start3 + 3u);
            if (row3 < N && column5 < M) output[row3 * M + column5] = sum;
            if (row3 < N && column6 < M) output[row3 * M + column6] = sum2;
            if (row3 < N && column7 < M) output[row3 * M + column7] = sum3;
            if (row3 < N && column8 < M) output[row3 * M + column8] = sum4;
            if (row4 < N && column5 < M) output[row4 * M + column5] = sum5;
            if (row4 < N && column6 < M) output[row4 * M + column6] = sum6;
            if (row4 < N && column7 < M) output[row4 * M + column7] = sum7;
            if (row4 < N && column8 < M) output[row4 * M + column8] = sum8;
            if (row5 < N && column5 < M) output[row5 * M + column5] = sum9;
            if (row5 < N && column6 < M) output[row5 * M + column6] = sum10;
            if (row5 < N && column7 < M) output[row5 * M + column7] = sum11;
            if (row5 < N && column8 < M) output[row5 * M + column8] = sum12;
            if (row6 < N && column5 < M) output[row6 * M + column5] = sum13;
            if (row6 < N && column6 < M) output[row6 * M + column6] = sum14;
            if (row6 < N && column7 < M) output[row6 * M + column7] = sum15;
            if (row6 < N && column8 < M) output[row6 * M + column8] = sum16;
            __syncthreads();
        }
    }
}
