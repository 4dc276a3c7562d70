/* The first GPU of all platforms, or else the first device; it is kept for all calls. */
struct host_device {
    int error;
    cl_context context;
    cl_command_queue queue;
    /* One for each file. */
    cl_program programs[sizeof host_files / sizeof *host_files];
};

static inline int host_told(const char *what, cl_int error) {
    if (error == CL_SUCCESS) return SLYZ_OK;
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE)
        return SLYZ_OUT_OF_MEMORY;
    fprintf(stderr, "%s failed: OpenCL error %d\n", what, (int)error);
    return SLYZ_DEVICE;
}

static inline cl_device_id host_found(void) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return NULL;
    const cl_device_type types[2] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
    for (int type = 0; type < 2; type++)
        for (cl_uint k = 0; k < count && k < 16; k++) {
            cl_device_id device = NULL;
            if (clGetDeviceIDs(platforms[k], types[type], 1, &device, NULL) == CL_SUCCESS) return device;
        }
    return NULL;
}

/* The text of a file; empty where it is not there. */
static inline std::string host_source(const std::string &path) {
    std::string text;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return text;
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
    fclose(file);
    return text;
}

static inline int host_built(const host_device *made, cl_device_id device, const char *name, cl_program *program) {
    cl_int error = CL_SUCCESS;
    std::string path = std::string(SLYZ_KERNELS) + "/" + name;
    std::string text = host_source(path);
    if (text.empty()) {
        fprintf(stderr, "%s cannot be read; it belongs to this program\n", path.c_str());
        return SLYZ_DEVICE;
    }
    const char *start = text.c_str();
    *program = clCreateProgramWithSource(made->context, 1, &start, NULL, &error);
    if (error != CL_SUCCESS) return host_told("clCreateProgramWithSource", error);
    error = clBuildProgram(*program, 1, &device, SLYZ_OPTIONS, NULL, NULL);
    if (error == CL_SUCCESS) return SLYZ_OK;
    size_t size = 0;
    clGetProgramBuildInfo(*program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    std::string log(size, ' ');
    if (size) clGetProgramBuildInfo(*program, device, CL_PROGRAM_BUILD_LOG, size, &log[0], NULL);
    fprintf(stderr, "%s\n", log.c_str());
    return host_told(name, error);
}

static inline host_device host_opened(void) {
    host_device made = {SLYZ_OK, NULL, NULL, {}};
    cl_int error = CL_SUCCESS;
    cl_device_id device = host_found();
    if (!device) {
        fprintf(stderr, "this machine has no OpenCL device\n");
        made.error = SLYZ_DEVICE;
        return made;
    }
    made.context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error == CL_SUCCESS) made.queue = clCreateCommandQueue(made.context, device, 0, &error);
    made.error = host_told("clCreateContext", error);
    for (size_t k = 0; k < sizeof host_files / sizeof *host_files && !made.error; k++)
        made.error = host_built(&made, device, host_files[k], &made.programs[k]);
    return made;
}

static inline host_device *host_shared(void) {
    static host_device device = host_opened();
    return &device;
}

static inline int host_device_open(void) {
    return host_shared()->error;
}

static inline int host_device_allocate(host_buffer *buffer, size_t bytes) {
    cl_int error = CL_SUCCESS;
    *buffer = clCreateBuffer(host_shared()->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    return host_told("clCreateBuffer", error);
}

static inline void host_device_free(host_buffer buffer) {
    clReleaseMemObject(buffer);
}

static inline int host_device_write(host_buffer into, const void *from, size_t bytes) {
    cl_command_queue queue = host_shared()->queue;
    return host_told("clEnqueueWriteBuffer", clEnqueueWriteBuffer(queue, into, CL_TRUE, 0, bytes, from, 0, NULL, NULL));
}

static inline int host_device_read(void *into, host_buffer from, size_t bytes) {
    cl_command_queue queue = host_shared()->queue;
    return host_told("clEnqueueReadBuffer", clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, into, 0, NULL, NULL));
}

static inline int host_device_wait(void) {
    return host_told("clFinish", clFinish(host_shared()->queue));
}

static inline int host_device_launch(
    host_kernel asked, const int64_t *grid, const unsigned *block, const host_argument *arguments, size_t count) {
    cl_int error = CL_SUCCESS;
    /* Arguments belong to the object: each launch has its own, so that threads may call at the same time. */
    cl_kernel kernel = clCreateKernel(host_shared()->programs[asked.file], asked.name, &error);
    if (error != CL_SUCCESS) return host_told(asked.name, error);
    for (size_t k = 0; k < count && error == CL_SUCCESS; k++)
        error = clSetKernelArg(kernel, (cl_uint)k, arguments[k].size, arguments[k].bytes);
    size_t threads[3], local[3];
    for (int k = 0; k < 3; k++) {
        local[k] = block[k];
        threads[k] = (size_t)grid[k] * block[k];
    }
    cl_command_queue queue = host_shared()->queue;
    if (error == CL_SUCCESS) error = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, threads, local, 0, NULL, NULL);
    clReleaseKernel(kernel);
    return host_told(asked.name, error);
}
