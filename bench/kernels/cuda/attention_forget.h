// Between two texts of the kernel in attention_check.cu: how it is launched is kept, its macros are not.
#ifndef THREADS
#define THREADS 128
#endif
static const int rows_of_block = ROWS, threads_of_block = THREADS;
#undef WIDTH
#undef OF_TYPE
#undef HALVES
#undef CAUSAL
#undef attention
#undef ROWS
#undef KEYS
#undef THREADS
#undef ROW_TILES
#undef KEY_TILES
#undef WIDTH_TILES
#undef CHUNKS
#undef COLUMNS
#undef SLICE
#undef LOWEST
#undef SCORES
#undef SUMS
#undef HIDE
#undef TAKE
#undef COPY
#undef BLOCK
#undef BLOCKS
#undef ROW_BYTES
#undef TILE
#undef PARTS
