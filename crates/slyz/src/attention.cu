// Attention without storing the scores: the queries of a block stay in registers, keys and values pass by in tiles.
// Before this stand WIDTH, the elements of a query, OF_TYPE, "f16" or "bf16", and CAUSAL, 1 where a query sees no later keys.
#define ROWS (WIDTH <= 64 ? 128 : 64)  // queries of a block
#define KEYS (WIDTH <= 64 ? 64 : 32)   // keys of a tile
#define ROW_TILES (ROWS / 64)          // tiles of 16 queries that a warp has
#define KEY_TILES (KEYS / 8)
#define WIDTH_TILES (WIDTH / 8)
#define CHUNKS (WIDTH / 8)             // of 16 bytes, in a row
#define LOWEST __int_as_float(0xff800000)

typedef unsigned short element;
typedef unsigned int word;

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#if __CUDA_ARCH__ >= 800

// Two floats as elements, the first in the low half.
__device__ __forceinline__ word pack(float low, float high) {
    word both;
    asm("cvt.rn." OF_TYPE "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// Where a chunk of a row is: rows are turned, so that the same chunk of eight of them is in different banks.
__device__ __forceinline__ word place(int row, int chunk) { return (row * CHUNKS + (chunk ^ (row & 7))) * 16; }

// Has rows copied to shared memory; those behind the end are 0.
__device__ __forceinline__ void copy_rows(word to, const uint4 *from, long long first, long long end, int rows) {
#pragma unroll
    for (int i = threadIdx.x; i < rows * CHUNKS; i += 128) {
        const int row = i / CHUNKS;
        const int chunk = i % CHUNKS;
        const bool there = first + row < end;
        const uint4 *source = from + (there ? (first + row) * CHUNKS + chunk : 0);
        const int bytes = there ? 16 : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + place(row, chunk)), "l"(source), "r"(bytes));
    }
}

__device__ __forceinline__ void load(word (&to)[4], word from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}

__device__ __forceinline__ void load_turned(word (&to)[4], word from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}

// Not volatile: what does not hang on it goes on meanwhile.
__device__ __forceinline__ void multiply(float (&sum)[4], const word (&a)[4], word b0, word b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." OF_TYPE "." OF_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128) attention(
    const element *q, const element *k, const element *v, element *result, float scale, long long n, long long m) {
    __shared__ __align__(128) element memory[(ROWS + 4 * KEYS) * WIDTH];
    const word queries = (word)__cvta_generic_to_shared(memory);
    const word keys = queries + ROWS * WIDTH * 2;
    const word values = keys + 2 * KEYS * WIDTH * 2;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const long long blocks = (n + ROWS - 1) / ROWS;
    const long long group = blockIdx.x / blocks;
    const long long first = (blockIdx.x % blocks) * ROWS;
    const uint4 *own_q = (const uint4 *)q + group * n * CHUNKS;
    const uint4 *own_k = (const uint4 *)k + group * m * CHUNKS;
    const uint4 *own_v = (const uint4 *)v + group * m * CHUNKS;
    const long long seen = CAUSAL && first + ROWS < m ? first + ROWS : m;
    const long long tiles = (seen + KEYS - 1) / KEYS;

    copy_rows(queries, own_q, first, n, ROWS);
    copy_rows(keys, own_k, 0, m, KEYS);
    copy_rows(values, own_v, 0, m, KEYS);
    asm volatile("cp.async.commit_group;");

    // A lane has the rows lane / 4 and 8 further of each tile of 16.
    word query[ROW_TILES][WIDTH / 16][4];
    float sum[ROW_TILES][WIDTH_TILES][4] = {};
    float weights[ROW_TILES][2] = {};
    float highest[ROW_TILES][2];
#pragma unroll
    for (int t = 0; t < ROW_TILES; t++) highest[t][0] = highest[t][1] = LOWEST;

    const float by = scale * 1.44269504088896340736f;
    for (long long tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        const word here = (tile & 1) * KEYS * WIDTH * 2;
        const word there = ((tile + 1) & 1) * KEYS * WIDTH * 2;
        if (tile + 1 < tiles) {
            copy_rows(keys + there, own_k, (tile + 1) * KEYS, m, KEYS);
            copy_rows(values + there, own_v, (tile + 1) * KEYS, m, KEYS);
        }
        asm volatile("cp.async.commit_group;");
        if (tile == 0) {
#pragma unroll
            for (int t = 0; t < ROW_TILES; t++) {
#pragma unroll
                for (int d = 0; d < WIDTH / 16; d++)
                    load(query[t][d], queries + place((warp * ROW_TILES + t) * 16 + (lane & 15), d * 2 + (lane >> 4)));
            }
        }

        float score[ROW_TILES][KEY_TILES][4] = {};
#pragma unroll
        for (int d = 0; d < WIDTH / 16; d++) {
#pragma unroll
            for (int pair = 0; pair < KEY_TILES / 2; pair++) {
                word key[4];
                load(key, keys + here + place(pair * 16 + (lane & 7) + ((lane >> 4) << 3), d * 2 + ((lane >> 3) & 1)));
#pragma unroll
                for (int t = 0; t < ROW_TILES; t++) {
                    multiply(score[t][2 * pair], query[t][d], key[0], key[1]);
                    multiply(score[t][2 * pair + 1], query[t][d], key[2], key[3]);
                }
            }
        }

        // Keys that are not there, or not to be seen.
        if ((tile + 1) * KEYS > m || (CAUSAL && (tile + 1) * KEYS > first)) {
#pragma unroll
            for (int t = 0; t < ROW_TILES; t++) {
#pragma unroll
                for (int c = 0; c < KEY_TILES; c++) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        const long long column = tile * KEYS + c * 8 + (lane & 3) * 2 + (e & 1);
                        const long long row = first + (warp * ROW_TILES + t) * 16 + (lane >> 2) + (e >> 1) * 8;
                        if (column >= m || (CAUSAL && column > row)) score[t][c][e] = LOWEST;
                    }
                }
            }
        }

        // Weights, as powers of two below that of the highest score so far.
#pragma unroll
        for (int t = 0; t < ROW_TILES; t++) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float most = highest[t][r];
#pragma unroll
                for (int c = 0; c < KEY_TILES; c++) most = fmaxf(most, fmaxf(score[t][c][2 * r], score[t][c][2 * r + 1]));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
                const float shrunk = power_of_two((highest[t][r] - most) * by);
                highest[t][r] = most;
                weights[t][r] *= shrunk;
#pragma unroll
                for (int w = 0; w < WIDTH_TILES; w++) {
                    sum[t][w][2 * r] *= shrunk;
                    sum[t][w][2 * r + 1] *= shrunk;
                }
                const float start = most * by;
#pragma unroll
                for (int c = 0; c < KEY_TILES; c++) {
                    score[t][c][2 * r] = power_of_two(fmaf(score[t][c][2 * r], by, -start));
                    score[t][c][2 * r + 1] = power_of_two(fmaf(score[t][c][2 * r + 1], by, -start));
                    weights[t][r] += score[t][c][2 * r] + score[t][c][2 * r + 1];
                }
            }
        }

#pragma unroll
        for (int pair = 0; pair < KEY_TILES / 2; pair++) {
            word weight[ROW_TILES][4];
#pragma unroll
            for (int t = 0; t < ROW_TILES; t++) {
                weight[t][0] = pack(score[t][2 * pair][0], score[t][2 * pair][1]);
                weight[t][1] = pack(score[t][2 * pair][2], score[t][2 * pair][3]);
                weight[t][2] = pack(score[t][2 * pair + 1][0], score[t][2 * pair + 1][1]);
                weight[t][3] = pack(score[t][2 * pair + 1][2], score[t][2 * pair + 1][3]);
            }
#pragma unroll
            for (int w = 0; w < WIDTH / 16; w++) {
                word value[4];
                load_turned(value, values + here + place(pair * 16 + (lane & 15), w * 2 + (lane >> 4)));
#pragma unroll
                for (int t = 0; t < ROW_TILES; t++) {
                    multiply(sum[t][2 * w], weight[t], value[0], value[1]);
                    multiply(sum[t][2 * w + 1], weight[t], value[2], value[3]);
                }
            }
        }
    }

#pragma unroll
    for (int t = 0; t < ROW_TILES; t++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float all = weights[t][r];
            all += __shfl_xor_sync(0xffffffffu, all, 1);
            all += __shfl_xor_sync(0xffffffffu, all, 2);
            const float share = m == 0 ? 0 : 1 / all;
            const long long row = first + (warp * ROW_TILES + t) * 16 + (lane >> 2) + r * 8;
            if (row >= n) continue;
            word *to = (word *)result + (group * n + row) * (WIDTH / 2) + (lane & 3);
#pragma unroll
            for (int w = 0; w < WIDTH_TILES; w++) to[w * 4] = pack(sum[t][w][2 * r] * share, sum[t][w][2 * r + 1] * share);
        }
    }
}

#else

// GPUs without these instructions: a query a thread.
__device__ __forceinline__ float number(element bits) {
    float x;
#if HALVES
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
#else
    x = __int_as_float((int)bits << 16);
#endif
    return x;
}

__device__ __forceinline__ element rounded(float x) {
#if HALVES
    element bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    const word bits = __float_as_int(x);
    return x != x ? 0x7fc0 : (element)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}

extern "C" __global__ void __launch_bounds__(128) attention(
    const element *q, const element *k, const element *v, element *result, float scale, long long n, long long m) {
    const long long blocks = (n + ROWS - 1) / ROWS;
    const long long group = blockIdx.x / blocks;
    const long long row = (blockIdx.x % blocks) * ROWS + threadIdx.x;
    if (threadIdx.x >= ROWS || row >= n) return;
    float query[WIDTH], sum[WIDTH] = {};
    for (int w = 0; w < WIDTH; w++) query[w] = number(q[(group * n + row) * WIDTH + w]);
    const float by = scale * 1.44269504088896340736f;
    const long long seen = CAUSAL && row + 1 < m ? row + 1 : m;
    float highest = LOWEST, weights = 0;
    for (long long j = 0; j < seen; j++) {
        const element *key = k + (group * m + j) * WIDTH;
        const element *value = v + (group * m + j) * WIDTH;
        float score = 0;
        for (int w = 0; w < WIDTH; w++) score = fmaf(query[w], number(key[w]), score);
        const float most = fmaxf(highest, score);
        const float shrunk = power_of_two((highest - most) * by);
        const float weight = power_of_two(fmaf(score, by, -most * by));
        highest = most;
        weights = fmaf(weights, shrunk, weight);
        for (int w = 0; w < WIDTH; w++) sum[w] = fmaf(sum[w], shrunk, weight * number(value[w]));
    }
    for (int w = 0; w < WIDTH; w++) result[(group * n + row) * WIDTH + w] = rounded(m == 0 ? 0 : sum[w] / weights);
}

#endif
