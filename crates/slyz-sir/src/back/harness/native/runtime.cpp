/* What the device has to say; memory that runs out is an error of its own. */
static inline int host_told(gpuError_t error) {
    if (error == gpuSuccess) return SLYZ_OK;
    if (error == gpuErrorMemoryAllocation) return SLYZ_OUT_OF_MEMORY;
    fprintf(stderr, "the device failed: %s\n", gpuGetErrorString(error));
    return SLYZ_DEVICE;
}

static inline int host_device_open(void) {
    return SLYZ_OK;
}

static inline int host_device_allocate(host_buffer *buffer, size_t bytes) {
    return host_told(gpuMalloc(buffer, bytes));
}

static inline void host_device_free(host_buffer buffer) {
    (void)gpuFree(buffer);
}

static inline int host_device_write(host_buffer into, const void *from, size_t bytes) {
    return host_told(gpuMemcpy(into, from, bytes, gpuMemcpyHostToDevice));
}

static inline int host_device_read(void *into, host_buffer from, size_t bytes) {
    return host_told(gpuMemcpy(into, from, bytes, gpuMemcpyDeviceToHost));
}

static inline int host_device_wait(void) {
    return host_told(gpuDeviceSynchronize());
}
