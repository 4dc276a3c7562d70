/* An array of the caller's. */
static inline host_buffer host_upload(host_call *call, const void *data, int64_t count, size_t each) {
    host_bytes(call, count, each);
    return (host_buffer)data;
}

static inline host_buffer host_allocate(host_call *call, int64_t count, size_t each) {
    size_t bytes = host_bytes(call, count, each);
    if (call->error) return NULL;
    host_buffer buffer = malloc(bytes);
    host_require(call, buffer != NULL, SLYZ_OUT_OF_MEMORY);
    if (buffer) call->buffers[call->owned++] = buffer;
    return buffer;
}

/* An array that the caller gave room for. */
static inline host_buffer host_room(host_call *call, void *data, int64_t count, size_t each) {
    host_bytes(call, count, each);
    return data;
}

static inline void host_read(host_call *call, void *into, host_buffer from, int64_t count, size_t each) {
    size_t bytes = host_bytes(call, count, each);
    if (!call->error && count > 0) memcpy(into, from, bytes);
}

static inline int64_t host_read_count(host_call *call, host_buffer from) {
    return call->error ? 0 : *(const int64_t *)from;
}

static inline int host_read_bool(host_call *call, host_buffer from) {
    return !call->error && *(const uint8_t *)from;
}

/* The bits of a scalar. */
static inline uint64_t host_bits(const void *value, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    return bits;
}

/* Results of so many bytes would push everything else out of the caches. */
static inline int64_t host_past(int64_t bytes) {
    return bytes >= 32 << 20;
}

/* Tasks for each thread, so that nobody waits long for the slowest. */
#define SLYZ_TASKS 16

/* Runs the blocks of a kernel, side by side where OpenMP is on: blocks do not see each other. `scratch` are the bytes of memories that
   each thread has for itself; they start on cache lines, and not a multiple of 4096 bytes apart. */
static inline void host_launch(
    host_call *call, host_kernel *kernel, int64_t blocks, void *const *memories, const int64_t *scratch, int scratches,
    const uint64_t *scalars, const int64_t *sizes) {
    if (call->error || blocks <= 0) return;
    size_t room = 0;
    for (int k = 0; k < scratches; k++) {
        host_require(call, scratch[k] < SLYZ_HUGE, SLYZ_TOO_LARGE);
        room += ((size_t)scratch[k] + 63) / 64 * 64 + 256;
    }
    if (call->error) return;
    int64_t tasks = 1;
#ifdef _OPENMP
    tasks = host_min(blocks, (int64_t)SLYZ_TASKS * omp_get_max_threads());
#endif
    int failed = 0;
#ifdef _OPENMP
#pragma omp parallel if (tasks > 1) reduction(| : failed)
#endif
    {
        void *starts[SLYZ_SCRATCHES];
        char *own = room ? (char *)aligned_alloc(64, room) : NULL;
        failed |= room && !own;
        char *next = own;
        for (int k = 0; k < scratches && own; k++) {
            starts[k] = next;
            next += ((size_t)scratch[k] + 63) / 64 * 64 + 256;
        }
#ifdef _OPENMP
#pragma omp for schedule(dynamic)
#endif
        for (int64_t task = 0; task < tasks; task++)
            if (!failed) kernel(memories, starts, scalars, sizes, blocks * task / tasks, blocks * (task + 1) / tasks);
        free(own);
    }
    host_require(call, !failed, SLYZ_OUT_OF_MEMORY);
}

static inline host_call host_begin(void) {
    host_call call;
    memset(&call, 0, sizeof call);
    call.begun = host_clock();
    return call;
}

static inline int host_end(host_call *call) {
    for (int k = 0; k < call->owned; k++) free(call->buffers[k]);
    host_last_seconds = host_clock() - call->begun;
    return call->error;
}
