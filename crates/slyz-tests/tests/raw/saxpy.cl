__kernel void saxpy(__global const float *x, __global const float *y, __global float *result, float a, long n) {
    long i = get_global_id(0);
    if (i < n) result[i] = a * x[i] + y[i];
}
