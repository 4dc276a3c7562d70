void turned(const int *x, int *across, float *halves, long long n, long long m, long long begin, long long end) {
    for (long long k = begin; k < end; k++) {
        long long i = k / m, j = k % m;
        across[j * n + i] = x[k];
        halves[k] = x[k] * 0.5f;
    }
}
