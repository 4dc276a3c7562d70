static inline int host_device_launch(
    host_kernel kernel, const int64_t *grid, const unsigned *block, const host_argument *arguments, size_t count) {
    void *pointers[SLYZ_ARGUMENTS];
    for (size_t k = 0; k < count; k++) pointers[k] = (void *)arguments[k].bytes;
    dim3 blocks((unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]);
    dim3 threads(block[0], block[1], block[2]);
    if (kernel.shared_bytes > 0) {
        gpuFuncAttribute most = gpuFuncAttributeMaxDynamicSharedMemorySize;
        int error = host_told(gpuFuncSetAttribute(kernel.code, most, (int)kernel.shared_bytes));
        if (error) return error;
    }
    return host_told(gpuLaunchKernel(kernel.code, blocks, threads, pointers, kernel.shared_bytes, 0));
}
