/* What the device has to say; memory that runs out is an error of its own. */
static inline int slyz_told(gpuError_t error) {
    if (error == gpuSuccess) return SLYZ_OK;
    if (error == gpuErrorMemoryAllocation) return SLYZ_OUT_OF_MEMORY;
    fprintf(stderr, "the device failed: %s\n", gpuGetErrorString(error));
    return SLYZ_DEVICE;
}

static inline int slyz_device_open(void) {
    return SLYZ_OK;
}

static inline int slyz_device_allocate(slyz_buffer *buffer, size_t bytes) {
    return slyz_told(gpuMalloc(buffer, bytes));
}

static inline void slyz_device_free(slyz_buffer buffer) {
    (void)gpuFree(buffer);
}

static inline int slyz_device_write(slyz_buffer into, const void *from, size_t bytes) {
    return slyz_told(gpuMemcpy(into, from, bytes, gpuMemcpyHostToDevice));
}

static inline int slyz_device_read(void *into, slyz_buffer from, size_t bytes) {
    return slyz_told(gpuMemcpy(into, from, bytes, gpuMemcpyDeviceToHost));
}

static inline int slyz_device_wait(void) {
    return slyz_told(gpuDeviceSynchronize());
}

static inline int slyz_device_launch(
    slyz_kernel kernel, const int64_t *grid, const unsigned *block, const slyz_argument *arguments, size_t count) {
    void *pointers[SLYZ_ARGUMENTS];
    for (size_t k = 0; k < count; k++) pointers[k] = (void *)arguments[k].bytes;
    dim3 blocks((unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]);
    dim3 threads(block[0], block[1], block[2]);
    return slyz_told(gpuLaunchKernel(kernel, blocks, threads, pointers, 0, 0));
}
