/* Elements above s[0], in order: counted by chunk, then written. Units: chunks of n[1] of n[0]; W divides both. */
#include "lanes.h"

KERNEL(filter_count) {
    OUT(i64, count, 0);
    IN(f32, x, 0);
    for (i64 c = lo; c < hi; c++) {
        i64 b = c * n[1], e = b + n[1] < n[0] ? b + n[1] : n[0];
        vi k = {0};
        for (i64 i = b; i < e; i += W) k -= load(x + i) > s[0];
        i64 total = 0;
        for (int l = 0; l < W; l++) total += k[l];
        count[c] = total;
    }
}

/* in[1] says where each chunk's elements go; out[0] has n[2] elements. */
KERNEL(filter_write) {
    OUT(f32, z, 0);
    IN(f32, x, 0);
    IN(i64, start, 1);
    for (i64 c = lo; c < hi; c++) {
        i64 i = c * n[1], e = i + n[1] < n[0] ? i + n[1] : n[0], at = start[c];
#if W == 16 && !defined __clang__
        /* A whole vector is written, so only where the next chunk's elements are not reached. */
        i64 stop = c + 1 < (n[0] + n[1] - 1) / n[1] ? start[c + 1] : n[2];
        for (; i < e && at + W <= stop; i += W) {
            vf v = load(x + i);
            unsigned short m = __builtin_ia32_cvtd2mask512(v > s[0]);
            store(z + at, __builtin_ia32_compresssf512_mask(v, (vf){0}, m));
            at += __builtin_popcount(m);
        }
#endif
        for (; i < e; i++)
            if (x[i] > s[0]) z[at++] = x[i];
    }
}
