extern "C" __global__ void saxpy(const float *x, const float *y, float *result, float a, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) result[i] = a * x[i] + y[i];
}
