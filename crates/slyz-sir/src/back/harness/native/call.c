/* A call of a function. Once something has failed nothing more is done, and the call ends with that error. */
typedef struct {
    int error;
    int owned;
    host_buffer buffers[SLYZ_BUFFERS];
    int running;
    double begun;
    double seconds;
} host_call;

/* No product of sizes is larger; sums of some are still numbers. */
#define SLYZ_HUGE ((int64_t)1 << 60)

static inline int64_t host_times(int64_t a, int64_t b) {
    return b > 0 && a > SLYZ_HUGE / b ? SLYZ_HUGE : a * b;
}

static inline int64_t host_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline double host_clock(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void host_require(host_call *call, int holds, int error) {
    if (!holds && !call->error) call->error = error;
}

/* An extent that kernels can count to; else 0, and the call fails. */
static inline int64_t host_axis(host_call *call, int64_t extent) {
    host_require(call, extent >= 0, SLYZ_REQUIREMENT);
    host_require(call, extent <= SLYZ_LONGEST, SLYZ_TOO_LARGE);
    return call->error ? 0 : extent;
}

/* The bytes of an array whose positions kernels can count. No array of a device is empty. */
static inline size_t host_bytes(host_call *call, int64_t count, size_t each) {
    host_require(call, count <= SLYZ_MOST, SLYZ_TOO_LARGE);
    return call->error || count == 0 ? each : (size_t)count * each;
}

/* The caller has room for so many, and is told how many there are. */
static inline int64_t host_counted(host_call *call, int64_t count, int64_t *room) {
    host_require(call, count <= *room, SLYZ_ROOM);
    *room = count;
    return call->error ? 0 : count;
}

static inline void host_swap(host_buffer *a, host_buffer *b) {
    host_buffer other = *a;
    *a = *b;
    *b = other;
}
