/* Softmax of rows of n[1], 4 W divides n[1]. Units: rows. The row stays in the first cache between its three passes. */
#include "lanes.h"

INLINE f32 exps(f32 *e, const f32 *x, i64 w) {
    vf m[4], t[4];
    for (int k = 0; k < 4; k++) m[k] = load(x + k * W), t[k] = (vf){0};
    for (i64 j = 4 * W; j < w; j += 4 * W)
        for (int k = 0; k < 4; k++) m[k] = max_(m[k], load(x + j + k * W));
    vf top = splat(max_lanes(max_(max_(m[0], m[1]), max_(m[2], m[3]))));
    for (i64 j = 0; j < w; j += 4 * W)
        for (int k = 0; k < 4; k++) {
            vf v = exp_(load(x + j + k * W) - top);
            store(e + j + k * W, v);
            t[k] += v;
        }
    return 1.0f / sum_lanes((t[0] + t[1]) + (t[2] + t[3]));
}

KERNEL(softmax) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 w = n[1];
    for (i64 r = lo; r < hi; r++) {
        f32 *o = z + r * w, scale = exps(o, x + r * w, w);
        for (i64 j = 0; j < w; j += W) store(o + j, load(o + j) * scale);
    }
}

/* With n[1] at most 4096. */
KERNEL(softmax_nt) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 w = n[1];
    f32 row[4096] __attribute__((aligned(64)));
    for (i64 r = lo; r < hi; r++) {
        f32 *o = z + r * w, scale = exps(row, x + r * w, w);
        for (i64 j = 0; j < w; j += W) stream(o + j, load(row + j) * scale);
    }
    fence();
}
