/* z[j][i] = x[i][j] for n[0] x n[1], multiples of 64. Units: strips of 64 columns of x. W x W blocks are turned
 * in registers by log2 W rounds of two-source shuffles. */
#include "lanes.h"

#define EVEN(l, s) ((l) & (s) ? W + (l) - (s) : (l))
#define ODD(l, s) ((l) & (s) ? W + (l) : (l) + (s))
#if W == 16
#define LANES(F, s) F(0, s), F(1, s), F(2, s), F(3, s), F(4, s), F(5, s), F(6, s), F(7, s), F(8, s), F(9, s), F(10, s), \
    F(11, s), F(12, s), F(13, s), F(14, s), F(15, s)
#elif W == 8
#define LANES(F, s) F(0, s), F(1, s), F(2, s), F(3, s), F(4, s), F(5, s), F(6, s), F(7, s)
#else
#define LANES(F, s) F(0, s), F(1, s), F(2, s), F(3, s)
#endif
#define EACH _Pragma("GCC unroll 16") for (int i = 0; i < W; i++)
#define ROUND(s) EACH if (!(i & s)) { \
        vf a = v[i], b = v[i + s]; \
        v[i] = __builtin_shufflevector(a, b, LANES(EVEN, s)); \
        v[i + s] = __builtin_shufflevector(a, b, LANES(ODD, s)); \
    }

INLINE void turn(vf *v, const f32 *x, i64 w) {
    EACH v[i] = load(x + i * w);
#if W >= 16
    ROUND(8)
#endif
#if W >= 8
    ROUND(4)
#endif
    ROUND(2)
    ROUND(1)
}

KERNEL(transpose) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 h = n[0], w = n[1];
    for (i64 u = lo; u < hi; u++)
        for (i64 r = 0; r < h; r += 64)
            for (i64 j = u * 64; j < u * 64 + 64; j += W)
                for (i64 i0 = r; i0 < r + 64; i0 += W) {
                    vf v[W];
                    turn(v, x + i0 * w + j, w);
                    EACH store(z + (j + i) * h + i0, v[i]);
                }
}

/* Tiles of 32 rows by all columns of the task: reads run along rows, and every line of z is written whole. */
KERNEL(transpose_nt) {
    NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 h = n[0], w = n[1];
    for (i64 r = 0; r < h; r += 32)
        for (i64 j = lo * 64; j < hi * 64; j += W)
            for (i64 i0 = r; i0 < r + 32; i0 += W) {
                vf v[W];
                turn(v, x + i0 * w + j, w);
                EACH stream(z + (j + i) * h + i0, v[i]);
            }
    fence();
}
