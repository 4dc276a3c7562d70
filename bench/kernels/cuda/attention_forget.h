// Between two texts of the kernel in attention_check.cu: how it is launched is kept, its macros are not.
static const int rows_of_block = ROWS, threads_of_block = THREADS;
#undef WIDTH
#undef OF_TYPE
#undef HALVES
#undef CAUSAL
#undef attention
#undef THREADS
#undef ROWS
#undef CHUNKS
#undef LOWEST
#undef KEYS
#undef KEY_SLOTS
#undef QUERY_TILES
#undef BLOCKS
#undef BLOCK
#undef TILE
#undef ROW_TILES
#undef KEY_TILES
#undef WIDTH_TILES
