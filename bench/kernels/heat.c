/* A step of heat on n[0] x n[1], edges clamped. Units: rows. The first and last column apart, so that the rest is plain. */
#include "lanes.h"

INLINE f32 edge(const f32 *up, const f32 *c, const f32 *down, i64 left, i64 j, i64 right, f32 k) {
    return c[j] + k * (up[j] + down[j] + c[left] + c[right] - 4.0f * c[j]);
}

INLINE vf inner(const f32 *up, const f32 *c, const f32 *down, i64 j, f32 k) {
    vf x = load(c + j);
    return x + k * (load(up + j) + load(down + j) + load(c + j - 1) + load(c + j + 1) - 4.0f * x);
}

#define ROWS \
    NOT_USED(n); \
    OUT(f32, z, 0); \
    IN(f32, x, 0); \
    i64 h = n[0], w = n[1]; \
    f32 k = s[0]; \
    for (i64 i = lo; i < hi; i++)
#define ROW \
    const f32 *c = x + i * w, *up = i ? c - w : c, *down = i + 1 < h ? c + w : c; \
    f32 *o = z + i * w

KERNEL(heat) {
    ROWS {
        ROW;
        o[0] = edge(up, c, down, 0, 0, 1, k);
        i64 j = 1;
        for (; j + W < w; j += W) store(o + j, inner(up, c, down, j, k));
        for (; j < w; j++) o[j] = edge(up, c, down, j - 1, j, j + 1 < w ? j + 1 : j, k);
    }
}

KERNEL(heat_nt) {
    ROWS {
        ROW;
        i64 j = 0;
        do {
            o[j] = edge(up, c, down, j ? j - 1 : 0, j, j + 1 < w ? j + 1 : j, k);
            j++;
        } while (j < w && ((u64)(o + j) & (4 * W - 1)));
        for (; j + W < w; j += W) stream(o + j, inner(up, c, down, j, k));
        for (; j < w; j++) o[j] = edge(up, c, down, j - 1, j, j + 1 < w ? j + 1 : j, k);
    }
    fence();
}
