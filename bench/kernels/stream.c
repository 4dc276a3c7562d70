/* Copies, saxpy and relu. Units: elements. */
#include "lanes.h"

KERNEL(copy) {
    NOT_USED(n), NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    __builtin_memcpy(z + lo, x + lo, (u64)(hi - lo) * sizeof(f32));
}

KERNEL(copy_nt) {
    NOT_USED(n), NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 i = lo;
    for (; i < hi && ((u64)(z + i) & (4 * W - 1)); i++) z[i] = x[i];
    for (; i + 4 * W <= hi; i += 4 * W)
        for (int k = 0; k < 4; k++) stream(z + i + k * W, load(x + i + k * W));
    for (; i < hi; i++) z[i] = x[i];
    fence();
}

KERNEL(saxpy) {
    NOT_USED(n);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    IN(f32, y, 1);
    f32 a = s[0];
    i64 i = lo;
    for (; i + W <= hi; i += W) store(z + i, a * load(x + i) + load(y + i));
    for (; i < hi; i++) z[i] = a * x[i] + y[i];
}

KERNEL(saxpy_nt) {
    NOT_USED(n);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    IN(f32, y, 1);
    f32 a = s[0];
    i64 i = lo;
    for (; i < hi && ((u64)(z + i) & (4 * W - 1)); i++) z[i] = a * x[i] + y[i];
    for (; i + W <= hi; i += W) stream(z + i, a * load(x + i) + load(y + i));
    for (; i < hi; i++) z[i] = a * x[i] + y[i];
    fence();
}

KERNEL(relu) {
    NOT_USED(n), NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 i = lo;
    for (; i + W <= hi; i += W) {
        vf v = load(x + i);
        store(z + i, select(v > 0, v, (vf){0}));
    }
    for (; i < hi; i++) z[i] = x[i] > 0 ? x[i] : 0;
}

KERNEL(relu_nt) {
    NOT_USED(n), NOT_USED(s);
    OUT(f32, z, 0);
    IN(f32, x, 0);
    i64 i = lo;
    for (; i < hi && ((u64)(z + i) & (4 * W - 1)); i++) z[i] = x[i] > 0 ? x[i] : 0;
    for (; i + W <= hi; i += W) {
        vf v = load(x + i);
        stream(z + i, select(v > 0, v, (vf){0}));
    }
    for (; i < hi; i++) z[i] = x[i] > 0 ? x[i] : 0;
    fence();
}
