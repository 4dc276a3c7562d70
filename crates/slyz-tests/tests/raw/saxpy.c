#include <stdint.h>

void saxpy(const float *x, const float *y, float *result, float a, int64_t n, int64_t begin, int64_t end) {
    (void)n;
    for (int64_t i = begin; i < end; i++) result[i] = a * x[i] + y[i];
}
