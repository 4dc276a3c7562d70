// Attention without storing the scores: the queries of a block stay in registers, keys and values pass by in tiles.
// Before this stand WIDTH, the elements of a query, OF_TYPE, "f16" or "bf16", HALVES, 1 for "f16", and CAUSAL, 1 where
// a query sees no later keys. Threads and rows of a block are the same on each GPU: who launches it does not know which
// of the forms below runs.
#define THREADS 128
#define ROWS (WIDTH <= 64 ? 128 : 64)  // queries of a block
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

// Has a thread's chunks of a tile copied to shared memory: the first from `from` to `to`, each other one a constant
// number of rows further. Rows from `left` on are 0. That number is a multiple of 8, so that the rows are turned alike;
// and how many chunks these are is a constant, so that beside a comparison a chunk nothing is computed here. Places
// worked out anew for each chunk cost more than the multiplications.
template <int rows, int row_bytes>
__device__ __forceinline__ void copy_rows(word to, const uint4 *from, int left) {
#pragma unroll
    for (int i = 0; i < rows * CHUNKS / THREADS; i++) {
        const int further = i * (THREADS / CHUNKS);
        asm volatile(
            "{ .reg .pred absent; setp.ge.s32 absent, %2, %3;"
            " cp.async.cg.shared.global [%0], [%1], 16, absent; }" ::"r"(to + further * row_bytes),
            "l"(from + further * CHUNKS), "r"((int)(threadIdx.x / CHUNKS) + further), "r"(left));
    }
}

// What a lane has of 16 queries: of `row`, its own, and of the row 8 further, two of each 8 elements. Queries behind
// the end are 0. They are read once only: straight into registers, so that shared memory is left to keys and values.
__device__ __forceinline__ void load_queries(word (&query)[WIDTH / 16][4], const element *q, long long row, long long n) {
    const word *from = (const word *)q + row * (WIDTH / 2) + (threadIdx.x & 3);
#pragma unroll
    for (int d = 0; d < WIDTH / 16; d++) {
#pragma unroll
        for (int e = 0; e < 4; e++) query[d][e] = row + (e & 1) * 8 < n ? from[(e & 1) * 4 * WIDTH + d * 8 + (e >> 1) * 4] : 0;
    }
}

#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// With the instructions of Hopper's tensor cores, that the four warps of a block issue together, for 64 queries at
// once. A tile has 64 keys: more scores than that, 32 of them a thread, do not fit in the registers beside queries and
// sums. In shared memory it lies in blocks of 64 columns: of rows of 128 bytes, the longest that these instructions
// know how to turn. Of the 48 KB that a kernel has without asking for more, two tiles of keys and two of values take 32
// at width 64; at 128 there is room for one tile of keys only.
#define KEYS 64                          // of a tile
#define KEY_SLOTS (WIDTH <= 64 ? 2 : 1)  // tiles of keys in shared memory
#define QUERY_TILES (ROWS / 64)
#define BLOCKS (WIDTH / 64)
#define BLOCK (KEYS * 128)               // bytes
#define TILE (BLOCKS * BLOCK)            // bytes

typedef unsigned long long place;

// How the tensor cores are told of a block: where, in units of 16 bytes, that eight rows are 1024 bytes, and that rows
// are turned.
__device__ __forceinline__ place described(word at) {
    return (place)(at >> 4) | (place)1 << 16 | (place)(1024 >> 4) << 32 | (place)1 << 62;
}

// 64 queries: a lane has two rows of them, the second 8 further, and of each 8 columns two.
struct Queries {
    word query[WIDTH / 16][4];
    float score[32];
    word weight[KEYS / 16][4];
    float sum[BLOCKS][32];
    float highest[2];
    float weights[2];  // their sum
};

// The tensor cores read a and b and write d while the program goes on, until `wait`. The compiler knows nothing of
// that: to it, d is there at once, and what uses it may move anywhere behind. Therefore all of this is volatile, and
// keeps its order, and `settle` holds the rest.
template <int turned>
__device__ __forceinline__ void multiply(float (&d)[32], const word (&a)[4], place b, int add) {
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %37, 0;"
        " wgmma.mma_async.sync.aligned.m64n64k16.f32." OF_TYPE "." OF_TYPE
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},"
        " {%32, %33, %34, %35}, %36, add, 1, 1, %38; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(turned));
}

__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left>
__device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }

// Nothing that reads or writes these moves past here: behind a `wait`, so that it comes late enough, and before
// `begin`, so that it comes early enough. ptxas would see registers used that the tensor cores have meanwhile, and make
// the program wait after each multiplication.
__device__ __forceinline__ void settle(float (&x)[32]) {
#pragma unroll
    for (int i = 0; i < 32; i++) asm volatile("" : "+f"(x[i])::"memory");
}

__device__ __forceinline__ void settle_sums(Queries &own) {
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) settle(own.sum[b]);
}

// Waits for copies of all threads, but the last `left` groups of them, and has the tensor cores see these. Tiles that
// each thread is done with may be copied over then.
template <int left>
__device__ __forceinline__ void meet() {
    asm volatile("cp.async.wait_group %0;" ::"n"(left));
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
}

__device__ __forceinline__ void begin_scores(Queries &own, place keys) {
#pragma unroll
    for (int d = 0; d < WIDTH / 16; d++) multiply<0>(own.score, own.query[d], keys + ((d / 4 * BLOCK + d % 4 * 32) >> 4), d > 0);
}

__device__ __forceinline__ void begin_sums(Queries &own, place values) {
#pragma unroll
    for (int d = 0; d < KEYS / 16; d++) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) multiply<1>(own.sum[b], own.weight[d], values + ((b * BLOCK + d * 2048) >> 4), 1);
    }
}

// Hides the scores of keys that are not there, or not to be seen from `row` and the row 8 further. `before` is what
// comes before the lane's first column.
__device__ __forceinline__ void hide(float (&score)[32], long long row, long long before, long long m) {
    const int end = m - before < KEYS ? (int)(m - before) : KEYS;
    const long long seen = row + 1 - before;
    const int first_end = CAUSAL && seen < end ? (int)seen : end;
    const int second_end = CAUSAL && seen + 8 < end ? (int)seen + 8 : end;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        if ((i >> 2) * 8 + (i & 1) >= (i & 2 ? second_end : first_end)) score[i] = LOWEST;
    }
}

// Makes scores powers of two below that of the highest score so far; `shrunk` is what becomes of those before.
__device__ __forceinline__ void weigh(Queries &own, float (&shrunk)[2], float by) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        // Two chains each of maxima and of sums: one alone would be waited for.
        float most = fmaxf(own.highest[r], own.score[2 * r]);
        float other = own.score[2 * r + 1];
#pragma unroll
        for (int c = 1; c < 8; c++) {
            most = fmaxf(most, own.score[4 * c + 2 * r]);
            other = fmaxf(other, own.score[4 * c + 2 * r + 1]);
        }
        most = fmaxf(most, other);
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        shrunk[r] = power_of_two((own.highest[r] - most) * by);
        own.highest[r] = most;
        const float start = most * by;
        float even = 0, odd = 0;
#pragma unroll
        for (int c = 0; c < 8; c++) {
            own.score[4 * c + 2 * r] = power_of_two(fmaf(own.score[4 * c + 2 * r], by, -start));
            own.score[4 * c + 2 * r + 1] = power_of_two(fmaf(own.score[4 * c + 2 * r + 1], by, -start));
            even += own.score[4 * c + 2 * r];
            odd += own.score[4 * c + 2 * r + 1];
        }
        own.weights[r] = fmaf(own.weights[r], shrunk[r], even + odd);
    }
}

__device__ __forceinline__ void shrink(Queries &own, const float (&shrunk)[2]) {
#pragma unroll
    for (int i = 0; i < BLOCKS * 32; i++) own.sum[i / 32][i % 32] *= shrunk[i >> 1 & 1];
}

// The powers as elements. A lane has of the results of one multiplication just what the next one wants of it as
// factors.
__device__ __forceinline__ void pack_weights(Queries &own) {
#pragma unroll
    for (int i = 0; i < 16; i++) own.weight[i / 4][i % 4] = pack(own.score[2 * i], own.score[2 * i + 1]);
#pragma unroll
    for (int i = 0; i < 16; i++) asm volatile("" : "+r"(own.weight[i / 4][i % 4])::"memory");
}

// Two blocks on a multiprocessor: one has something to do where the other waits.
extern "C" __global__ void __launch_bounds__(THREADS, 2) attention(
    const element *q, const element *k, const element *v, element *result, float scale, long long n, long long m) {
    __shared__ __align__(1024) element memory[(2 + KEY_SLOTS) * KEYS * WIDTH];
    const word values = (word)__cvta_generic_to_shared(memory);
    const word keys = values + 2 * TILE;
    const int lane = threadIdx.x & 31;
    const long long blocks = (n + ROWS - 1) / ROWS;
    const long long group = blockIdx.x / blocks;
    // Blocks that see more keys begin earlier: those that run last are short then.
    const long long first = (CAUSAL ? blocks - 1 - blockIdx.x % blocks : blockIdx.x % blocks) * ROWS;
    const long long row = first + threadIdx.x / 32 * 16 + lane / 4;  // the lane's, in the first tile of queries
    const uint4 *own_k = (const uint4 *)k + group * m * CHUNKS + threadIdx.x;
    const uint4 *own_v = (const uint4 *)v + group * m * CHUNKS + threadIdx.x;
    const long long seen = CAUSAL && first + ROWS < m ? first + ROWS : m;
    const int tiles = (int)((seen + KEYS - 1) / KEYS);
    const int rest = m < (long long)tiles * KEYS ? (int)(m - (long long)(tiles - 1) * KEYS) : KEYS;  // rows of the last tile
    const float by = scale * 1.44269504088896340736f;

    Queries own[QUERY_TILES];
#pragma unroll
    for (int t = 0; t < QUERY_TILES; t++) {
#pragma unroll
        for (int i = 0; i < BLOCKS * 32; i++) own[t].sum[i / 32][i % 32] = 0;
        own[t].highest[0] = own[t].highest[1] = LOWEST;
        own[t].weights[0] = own[t].weights[1] = 0;
    }

    if (m > 0) {
#pragma unroll
        for (int t = 0; t < QUERY_TILES; t++) load_queries(own[t].query, q + group * n * WIDTH, row + t * 64, n);

        const int copied_row = threadIdx.x / CHUNKS;
        const int chunk = threadIdx.x % CHUNKS;
        const word into = chunk / 8 * BLOCK + copied_row * 128 + ((chunk ^ copied_row) & 7) * 16;
        const auto copy_tile = [&](word to, const uint4 *from, int tile) {
            copy_rows<KEYS, 128>(to + into, from + (long long)tile * KEYS * CHUNKS, tile < tiles - 1 ? KEYS : rest);
        };
        const auto keys_of = [&](int tile) { return keys + tile % KEY_SLOTS * TILE; };
        const auto values_of = [&](int tile) { return values + tile % 2 * TILE; };

        // Scores are begun before the values are there.
        copy_tile(keys, own_k, 0);
        asm volatile("cp.async.commit_group;");
        copy_tile(values, own_v, 0);
        if (KEY_SLOTS > 1 && tiles > 1) copy_tile(keys_of(1), own_k, 1);
        asm volatile("cp.async.commit_group;");
        meet<1>();

        const place keys_at = described(keys);
        const place values_at = described(values);
        const auto scores = [&](int t, int tile) { begin_scores(own[t], keys_at + (tile % KEY_SLOTS * TILE >> 4)); };
        const auto sums = [&](int t, int tile) { begin_sums(own[t], values_at + (tile % 2 * TILE >> 4)); };
        float shrunk[2];
        const auto weigh_tile = [&](int t, int tile) {
            // All tiles before these are there and seen by each query.
            if (tile >= tiles - (CAUSAL ? ROWS / KEYS : 1)) hide(own[t].score, row + t * 64, (long long)tile * KEYS + (lane & 3) * 2, m);
            weigh(own[t], shrunk, by);
        };

#if QUERY_TILES == 2
        // Two tiles of queries take turns: the tensor cores have the sums of one and its next scores to do while the
        // threads make weights of the scores of the other. The scores behind the last tile of keys are of what happens
        // to lie there: they are all hidden.
        begin();
        scores(0, 0);
        commit();
        scores(1, 0);
        commit();
        wait<1>();
        settle(own[0].score);
        weigh_tile(0, 0);
        pack_weights(own[0]);
        wait<0>();
        settle(own[1].score);
        for (int tile = 0; tile < tiles; tile++) {
            meet<0>();
            if (tile + 2 < tiles) copy_tile(keys_of(tile), own_k, tile + 2);
            if (tile + 1 < tiles) copy_tile(values_of(tile + 1), own_v, tile + 1);
            asm volatile("cp.async.commit_group;");
            settle(own[0].score);
            settle_sums(own[0]);
            begin();
            sums(0, tile);
            scores(0, tile + 1);
            commit();
            weigh_tile(1, tile);
            shrink(own[1], shrunk);
            pack_weights(own[1]);
            settle(own[1].score);
            settle_sums(own[1]);
            begin();
            sums(1, tile);
            scores(1, tile + 1);
            commit();
            wait<1>();
            settle(own[0].score);
            settle_sums(own[0]);
            weigh_tile(0, tile + 1);
            shrink(own[0], shrunk);
            pack_weights(own[0]);
            wait<0>();
            settle(own[1].score);
            settle_sums(own[1]);
        }
#else
        // There are registers for one tile of queries only. The tensor cores have the scores of a tile of keys and the
        // sums of the tile before to do; during the sums the threads make weights of the scores. These are packed late,
        // as the sums read those packed before.
        begin();
        scores(0, 0);
        commit();
        wait<0>();
        settle(own[0].score);
        weigh_tile(0, 0);
        pack_weights(own[0]);
        __syncthreads();
        if (tiles > 1) copy_tile(keys, own_k, 1);
        asm volatile("cp.async.commit_group;");
        for (int tile = 1; tile < tiles; tile++) {
            meet<0>();
            copy_tile(values_of(tile), own_v, tile);
            asm volatile("cp.async.commit_group;");
            settle_sums(own[0]);
            begin();
            scores(0, tile);
            commit();
            sums(0, tile - 1);
            commit();
            wait<1>();
            settle(own[0].score);
            __syncthreads();
            if (tile + 1 < tiles) copy_tile(keys, own_k, tile + 1);
            asm volatile("cp.async.commit_group;");
            weigh_tile(0, tile);
            wait<0>();
            settle_sums(own[0]);
            shrink(own[0], shrunk);
            pack_weights(own[0]);
        }
        meet<0>();
        settle_sums(own[0]);
        begin();
        sums(0, tiles - 1);
        commit();
        wait<0>();
        settle_sums(own[0]);
#endif
    }

#pragma unroll
    for (int t = 0; t < QUERY_TILES; t++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float all = own[t].weights[r];
            all += __shfl_xor_sync(0xffffffffu, all, 1);
            all += __shfl_xor_sync(0xffffffffu, all, 2);
            const float share = m == 0 ? 0 : 1 / all;
            const long long to_row = row + t * 64 + r * 8;
            if (to_row >= n) continue;
            word *to = (word *)result + (group * n + to_row) * (WIDTH / 2) + (lane & 3);
#pragma unroll
            for (int i = 0; i < BLOCKS * 8; i++) {
                const float (&sum)[32] = own[t].sum[i / 8];
                to[i * 4] = pack(sum[i % 8 * 4 + 2 * r] * share, sum[i % 8 * 4 + 2 * r + 1] * share);
            }
        }
    }
}

#elif __CUDA_ARCH__ >= 800

// With the instructions that a warp issues for itself, for 16 queries at once. A tile has as many keys as there are
// registers for scores; queries and sums 128 wide leave fewer.
#define KEYS (WIDTH <= 64 ? 64 : 32)          // of a tile
#define TILE (KEYS * WIDTH * 2)               // bytes
#define ROW_TILES (ROWS / (THREADS / 2))      // tiles of 16 queries that a warp has
#define KEY_TILES (KEYS / 8)
#define WIDTH_TILES (WIDTH / 8)

// Where a chunk of a row is: rows are turned, so that the same chunk of eight of them is in different banks.
__device__ __forceinline__ word place(int row, int chunk) { return (row * CHUNKS + (chunk ^ (row & 7))) * 16; }

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

extern "C" __global__ void __launch_bounds__(THREADS) attention(
    const element *q, const element *k, const element *v, element *result, float scale, long long n, long long m) {
    __shared__ __align__(128) element memory[4 * KEYS * WIDTH];
    const word keys = (word)__cvta_generic_to_shared(memory);
    const word values = keys + 2 * TILE;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const long long blocks = (n + ROWS - 1) / ROWS;
    const long long group = blockIdx.x / blocks;
    const long long first = (blockIdx.x % blocks) * ROWS;
    const uint4 *own_k = (const uint4 *)k + group * m * CHUNKS + threadIdx.x;
    const uint4 *own_v = (const uint4 *)v + group * m * CHUNKS + threadIdx.x;
    const long long seen = CAUSAL && first + ROWS < m ? first + ROWS : m;
    const int tiles = (int)((seen + KEYS - 1) / KEYS);

    const word into = place(threadIdx.x / CHUNKS, threadIdx.x % CHUNKS);
    const auto copy_tile = [&](int tile) {
        const word there = into + (tile & 1) * TILE;
        const long long before = (long long)tile * KEYS;
        const int left = m - before < KEYS ? (int)(m - before) : KEYS;
        copy_rows<KEYS, WIDTH * 2>(keys + there, own_k + before * CHUNKS, left);
        copy_rows<KEYS, WIDTH * 2>(values + there, own_v + before * CHUNKS, left);
        asm volatile("cp.async.commit_group;");
    };
    if (m > 0) copy_tile(0);

    // A lane has the rows lane / 4 and 8 further of each tile of 16.
    word query[ROW_TILES][WIDTH / 16][4];
#pragma unroll
    for (int t = 0; t < ROW_TILES; t++)
        load_queries(query[t], q + group * n * WIDTH, first + (warp * ROW_TILES + t) * 16 + (lane >> 2), n);
    float sum[ROW_TILES][WIDTH_TILES][4] = {};
    float weights[ROW_TILES][2] = {};
    float highest[ROW_TILES][2];
#pragma unroll
    for (int t = 0; t < ROW_TILES; t++) highest[t][0] = highest[t][1] = LOWEST;

    const float by = scale * 1.44269504088896340736f;
    for (int tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        const word here = (tile & 1) * TILE;
        if (tile + 1 < tiles) copy_tile(tile + 1);

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
        const long long before = (long long)tile * KEYS;
        if (before + KEYS > m || (CAUSAL && before + KEYS > first)) {
            const int end = m - before < KEYS ? (int)(m - before) : KEYS;
            const int own_end = CAUSAL ? (int)(first - before) + warp * ROW_TILES * 16 + (lane >> 2) + 1 : 0;
#pragma unroll
            for (int t = 0; t < ROW_TILES; t++) {
#pragma unroll
                for (int c = 0; c < KEY_TILES; c++) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        const int column = c * 8 + (lane & 3) * 2 + (e & 1);
                        if (column >= end || (CAUSAL && column >= own_end + t * 16 + (e >> 1) * 8)) score[t][c][e] = LOWEST;
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
