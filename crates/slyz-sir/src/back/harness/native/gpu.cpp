static inline host_buffer host_allocate(host_call *call, int64_t count, size_t each) {
    size_t bytes = host_bytes(call, count, each);
    host_buffer buffer = NULL;
    if (call->error) return buffer;
    call->error = host_device_allocate(&buffer, bytes);
    if (!call->error) call->buffers[call->owned++] = buffer;
    return buffer;
}

static inline host_buffer host_upload(host_call *call, const void *data, int64_t count, size_t each) {
    host_buffer buffer = host_allocate(call, count, each);
    if (!call->error && count > 0) call->error = host_device_write(buffer, data, (size_t)count * each);
    return buffer;
}

/* Waits for all launches. */
static inline void host_finish(host_call *call) {
    if (!call->running) return;
    int error = host_device_wait();
    host_require(call, !error, error);
    call->seconds += host_clock() - call->begun;
    call->running = 0;
}

static inline void host_read(host_call *call, void *into, host_buffer from, int64_t count, size_t each) {
    host_finish(call);
    size_t bytes = host_bytes(call, count, each);
    if (!call->error && count > 0) call->error = host_device_read(into, from, bytes);
}

static inline int64_t host_read_count(host_call *call, host_buffer from) {
    int64_t count = 0;
    host_read(call, &count, from, 1, sizeof count);
    return call->error ? 0 : count;
}

static inline int host_read_bool(host_call *call, host_buffer from) {
    uint8_t holds = 0;
    host_read(call, &holds, from, 1, sizeof holds);
    return !call->error && holds;
}

/* Blocks of threads, behind all that was launched before. */
static inline void host_launch(
    host_call *call, host_kernel kernel, std::initializer_list<int64_t> grid, std::initializer_list<unsigned> block,
    std::initializer_list<host_argument> arguments) {
    if (call->error) return;
    const int64_t most[3] = {2147483647, 65535, 65535};
    for (int k = 0; k < 3; k++) {
        if (grid.begin()[k] <= 0) return;
        host_require(call, grid.begin()[k] <= most[k], SLYZ_TOO_LARGE);
    }
    if (call->error) return;
    if (!call->running) {
        call->error = host_device_wait();
        call->begun = host_clock();
        call->running = 1;
    }
    if (!call->error) call->error = host_device_launch(kernel, grid.begin(), block.begin(), arguments.begin(), arguments.size());
}

static inline host_call host_begin(void) {
    host_call call;
    memset(&call, 0, sizeof call);
    call.error = host_device_open();
    return call;
}

static inline int host_end(host_call *call) {
    host_finish(call);
    for (int k = 0; k < call->owned; k++) host_device_free(call->buffers[k]);
    host_last_seconds = call->seconds;
    return call->error;
}
