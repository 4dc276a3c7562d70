/* Counts of numbers 0 <= x < 256, by their whole part. Units: chunks of n[1] of n[0], 256 counts for each task's first
 * unit; four tables, so that equal numbers in a row do not wait for each other. */
#include "lanes.h"

KERNEL(histogram) {
    NOT_USED(s);
    OUT(u32, count, 0);
    IN(f32, x, 0);
    u32 t[4][256] = {{0}};
    i64 i = lo * n[1], e = hi * n[1] < n[0] ? hi * n[1] : n[0];
    for (; i + W <= e; i += W) {
        vi k = __builtin_convertvector(load(x + i), vi);
        _Pragma("GCC unroll 16") for (int l = 0; l < W; l++) t[l % 4][k[l] & 255]++;
    }
    for (; i < e; i++) t[0][(i32)x[i] & 255]++;
    for (int b = 0; b < 256; b++) count[lo * 256 + b] = t[0][b] + t[1][b] + t[2][b] + t[3][b];
}
