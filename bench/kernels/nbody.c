/* Accelerations of n[0] bodies. Units: 2 W bodies at a time, one a lane; W divides n[0] twice over. */
#include "lanes.h"

KERNEL(nbody) {
    OUT(f32, ax, 0);
    OUT(f32, ay, 1);
    OUT(f32, az, 2);
    IN(f32, x, 0);
    IN(f32, y, 1);
    IN(f32, z, 2);
    IN(f32, mass, 3);
    for (i64 i = lo; i < hi; i += 2 * W) {
        vf xi[2], yi[2], zi[2], a[2], b[2], c[2];
        for (int u = 0; u < 2; u++) {
            xi[u] = load(x + i + u * W), yi[u] = load(y + i + u * W), zi[u] = load(z + i + u * W);
            a[u] = b[u] = c[u] = (vf){0};
        }
        for (i64 j = 0; j < n[0]; j++)
            for (int u = 0; u < 2; u++) {
                vf dx = x[j] - xi[u], dy = y[j] - yi[u], dz = z[j] - zi[u];
                vf r2 = fma_(dx, dx, fma_(dy, dy, fma_(dz, dz, splat(s[0]))));
#if W == 16 && !defined __clang__
                /* The estimate of 1/sqrt with one step of Newton's method: half the time of a root and a division. */
                vf q = __builtin_ia32_rsqrt14ps512_mask(r2, (vf){0}, -1);
                q = q * fma_(-0.5f * r2 * q, q, splat(1.5f));
#else
                vf q = 1.0f / sqrt_(r2);
#endif
                vf f = mass[j] * q * q * q;
                a[u] = fma_(dx, f, a[u]), b[u] = fma_(dy, f, b[u]), c[u] = fma_(dz, f, c[u]);
            }
        for (int u = 0; u < 2; u++) store(ax + i + u * W, a[u]), store(ay + i + u * W, b[u]), store(az + i + u * W, c[u]);
    }
}
