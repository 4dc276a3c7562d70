__kernel void turned(__global const int *x, __global int *across, __global float *halves, long n, long m) {
    long j = get_global_id(0);
    long i = get_global_id(1);
    if (i >= n || j >= m) return;
    across[j * n + i] = x[i * m + j];
    halves[i * m + j] = x[i * m + j] * 0.5f;
}
