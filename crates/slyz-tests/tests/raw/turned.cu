extern "C" __global__ void turned(const int *x, int *across, float *halves, long long n, long long m) {
    long long j = blockIdx.x * blockDim.x + threadIdx.x;
    long long i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    across[j * n + i] = x[i * m + j];
    halves[i * m + j] = x[i * m + j] * 0.5f;
}
