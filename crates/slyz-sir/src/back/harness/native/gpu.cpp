static inline slyz_buffer slyz_allocate(slyz_call *call, int64_t count, size_t each) {
    size_t bytes = slyz_bytes(call, count, each);
    slyz_buffer buffer = NULL;
    if (call->error) return buffer;
    call->error = slyz_device_allocate(&buffer, bytes);
    if (!call->error) call->buffers[call->owned++] = buffer;
    return buffer;
}

static inline slyz_buffer slyz_upload(slyz_call *call, const void *data, int64_t count, size_t each) {
    slyz_buffer buffer = slyz_allocate(call, count, each);
    if (!call->error && count > 0) call->error = slyz_device_write(buffer, data, (size_t)count * each);
    return buffer;
}

/* Waits for all launches. */
static inline void slyz_finish(slyz_call *call) {
    if (!call->running) return;
    int error = slyz_device_wait();
    slyz_require(call, !error, error);
    call->seconds += slyz_clock() - call->begun;
    call->running = 0;
}

static inline void slyz_read(slyz_call *call, void *into, slyz_buffer from, int64_t count, size_t each) {
    slyz_finish(call);
    size_t bytes = slyz_bytes(call, count, each);
    if (!call->error && count > 0) call->error = slyz_device_read(into, from, bytes);
}

static inline int64_t slyz_read_count(slyz_call *call, slyz_buffer from) {
    int64_t count = 0;
    slyz_read(call, &count, from, 1, sizeof count);
    return call->error ? 0 : count;
}

static inline int slyz_read_bool(slyz_call *call, slyz_buffer from) {
    uint8_t holds = 0;
    slyz_read(call, &holds, from, 1, sizeof holds);
    return !call->error && holds;
}

/* Blocks of threads, behind all that was launched before. */
static inline void slyz_launch(
    slyz_call *call, slyz_kernel kernel, std::initializer_list<int64_t> grid, std::initializer_list<unsigned> block,
    std::initializer_list<slyz_argument> arguments) {
    if (call->error) return;
    const int64_t most[3] = {2147483647, 65535, 65535};
    for (int k = 0; k < 3; k++) {
        if (grid.begin()[k] <= 0) return;
        slyz_require(call, grid.begin()[k] <= most[k], SLYZ_TOO_LARGE);
    }
    if (call->error) return;
    if (!call->running) {
        call->error = slyz_device_wait();
        call->begun = slyz_clock();
        call->running = 1;
    }
    if (!call->error) call->error = slyz_device_launch(kernel, grid.begin(), block.begin(), arguments.begin(), arguments.size());
}

static inline slyz_call slyz_begin(void) {
    slyz_call call;
    memset(&call, 0, sizeof call);
    call.error = slyz_device_open();
    return call;
}

static inline int slyz_end(slyz_call *call) {
    slyz_finish(call);
    for (int k = 0; k < call->owned; k++) slyz_device_free(call->buffers[k]);
    slyz_last_seconds = call->seconds;
    return call->error;
}
