/* Prefix sums of chunks of n[1], each from the sum of what is before it. Units: chunks; W divides n[1] and n[0]. */
#include "lanes.h"

#define UP(l, s) ((l) >= (s) ? W + (l) - (s) : 0)
#if W == 16
#define LANES(s) UP(0, s), UP(1, s), UP(2, s), UP(3, s), UP(4, s), UP(5, s), UP(6, s), UP(7, s), UP(8, s), UP(9, s), \
    UP(10, s), UP(11, s), UP(12, s), UP(13, s), UP(14, s), UP(15, s)
#elif W == 8
#define LANES(s) UP(0, s), UP(1, s), UP(2, s), UP(3, s), UP(4, s), UP(5, s), UP(6, s), UP(7, s)
#else
#define LANES(s) UP(0, s), UP(1, s), UP(2, s), UP(3, s)
#endif
#define SHIFT(v, s) __builtin_shufflevector((vf){0}, v, LANES(s))

INLINE vf prefix(vf v) {
    v += SHIFT(v, 1);
    v += SHIFT(v, 2);
#if W >= 8
    v += SHIFT(v, 4);
#endif
#if W >= 16
    v += SHIFT(v, 8);
#endif
    return v;
}

#define SCAN(put) \
    NOT_USED(s); \
    OUT(f32, z, 0); \
    IN(f32, x, 0); \
    IN(f32, before, 1); \
    for (i64 c = lo; c < hi; c++) { \
        i64 b = c * n[1], e = b + n[1] < n[0] ? b + n[1] : n[0]; \
        vf carry = splat(before[c]); \
        for (i64 i = b; i < e; i += W) { \
            vf v = prefix(load(x + i)); \
            put(z + i, carry + v); \
            carry += splat(v[W - 1]); \
        } \
    }

KERNEL(scan) { SCAN(store) }
KERNEL(scan_nt) {
    SCAN(stream)
    fence();
}
