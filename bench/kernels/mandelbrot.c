/* Escape counts on n[1] x n[1] points, at most n[2] turns. Units: rows; 2 W divides n[1]. Two vectors of points at a
 * time hide the latency of the recurrence; points that have escaped are no longer counted. */
#include "lanes.h"

KERNEL(mandelbrot) {
    NOT_USED(s), NOT_USED(in);
    OUT(i32, z, 0);
    i64 w = n[1];
    i32 most = (i32)n[2];
    for (i64 r = lo; r < hi; r++) {
        vf cy = splat(-1.5f + 3.0f * (f32)r / (f32)w);
        for (i64 c = 0; c < w; c += 2 * W) {
            vf cx[2], x[2], y[2];
            vi count[2], on[2];
            for (int u = 0; u < 2; u++) {
                cx[u] = -2.0f + 3.0f * __builtin_convertvector(iota() + (i32)(c + u * W), vf) / (f32)w;
                x[u] = y[u] = (vf){0};
                count[u] = (vi){0};
                on[u] = splati(-1);
            }
            for (i32 turn = 0; turn < most; turn++) {
                for (int u = 0; u < 2; u++) on[u] &= x[u] * x[u] + y[u] * y[u] <= 4.0f;
                if (!any(on[0] | on[1])) break;
                for (int u = 0; u < 2; u++) {
                    vf t = x[u] * x[u] - y[u] * y[u] + cx[u];
                    y[u] = 2.0f * x[u] * y[u] + cy;
                    x[u] = t;
                    count[u] -= on[u];
                }
            }
            for (int u = 0; u < 2; u++) __builtin_memcpy(z + r * w + c + u * W, &count[u], sizeof count[u]);
        }
    }
}
