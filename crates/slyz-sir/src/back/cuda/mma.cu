// mma_f16
__device__ inline float4 mma_f16(unsigned a, unsigned b, unsigned c, unsigned d, unsigned x, unsigned y, float4 sums) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));
    return sums;
}

// mma_bf16
__device__ inline float4 mma_bf16(unsigned a, unsigned b, unsigned c, unsigned d, unsigned x, unsigned y, float4 sums) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));
    return sums;
}

// mma_tf32
__device__ inline float4 mma_tf32(unsigned a, unsigned b, unsigned c, unsigned d, unsigned x, unsigned y, float4 sums) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));
    return sums;
}

// load_fragment: four matrices of eight rows of four words, which lanes name.
__device__ inline uint4 load_fragment(const unsigned* row) {
    uint4 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return x;
}

// load_turned: four matrices of 8 by 8 elements of 16 bits, of which lanes name rows and get columns.
__device__ inline uint4 load_turned(const unsigned* row) {
    uint4 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return x;
}
