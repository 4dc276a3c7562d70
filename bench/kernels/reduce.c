/* Sums: of everything, of products, of rows, of columns. Four vectors of partial sums hide the latency of addition. */
#include "lanes.h"

INLINE f32 sum_of(const f32 *x, i64 len) {
    vf a = {0}, b = {0}, c = {0}, d = {0};
    i64 i = 0;
    for (; i + 4 * W <= len; i += 4 * W) {
        a += load(x + i);
        b += load(x + i + W);
        c += load(x + i + 2 * W);
        d += load(x + i + 3 * W);
    }
    f32 r = sum_lanes((a + b) + (c + d));
    for (; i < len; i++) r += x[i];
    return r;
}

/* Units: chunks of n[1] elements of n[0], a partial sum for each. */
KERNEL(sum) {
    NOT_USED(s);
    OUT(f32, part, 0);
    IN(f32, x, 0);
    for (i64 c = lo; c < hi; c++) {
        i64 b = c * n[1], e = b + n[1] < n[0] ? b + n[1] : n[0];
        part[c] = sum_of(x + b, e - b);
    }
}

/* Units: as for sum. */
KERNEL(dot) {
    NOT_USED(s);
    OUT(f32, part, 0);
    IN(f32, x, 0);
    IN(f32, y, 1);
    for (i64 u = lo; u < hi; u++) {
        i64 i = u * n[1], e = i + n[1] < n[0] ? i + n[1] : n[0];
        vf a = {0}, b = {0}, c = {0}, d = {0};
        for (; i + 4 * W <= e; i += 4 * W) {
            a = fma_(load(x + i), load(y + i), a);
            b = fma_(load(x + i + W), load(y + i + W), b);
            c = fma_(load(x + i + 2 * W), load(y + i + 2 * W), c);
            d = fma_(load(x + i + 3 * W), load(y + i + 3 * W), d);
        }
        f32 r = sum_lanes((a + b) + (c + d));
        for (; i < e; i++) r += x[i] * y[i];
        part[u] = r;
    }
}

/* Units: rows of n[1]. */
KERNEL(row_sums) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    for (i64 r = lo; r < hi; r++) z[r] = sum_of(x + r * n[1], n[1]);
}

/* Units: strips of n[2] columns of n[0] x n[1], W divides n[2] and n[2] divides n[1]. Eight rows a trip, the sums in L1. */
KERNEL(column_sums) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 h = n[0], w = n[1], strip = n[2];
    for (i64 u = lo; u < hi; u++) {
        f32 *o = z + u * strip;
        const f32 *q = x + u * strip;
        for (i64 c = 0; c < strip; c += W) store(o + c, (vf){0});
        i64 r = 0;
        for (; r + 8 <= h; r += 8)
            for (i64 c = 0; c < strip; c += W) {
                const f32 *t = q + r * w + c;
                vf a = load(t) + load(t + w), b = load(t + 2 * w) + load(t + 3 * w);
                a += load(t + 4 * w) + load(t + 5 * w);
                b += load(t + 6 * w) + load(t + 7 * w);
                store(o + c, load(o + c) + (a + b));
            }
        for (; r < h; r++)
            for (i64 c = 0; c < strip; c += W) store(o + c, load(o + c) + load(q + r * w + c));
    }
}
