/* Memory for so many elements, all zero. */
static void *elements(int64_t count, size_t each) {
    void *memory = calloc(count > 0 ? (size_t)count : 1, each);
    if (memory) return memory;
    fprintf(stderr, "no memory for %lld elements\n", (long long)count);
    exit(1);
}

/* Simple numbers for argument `k`. */
static inline int ramp(int k, int64_t i) {
    return (int)((i * (2 * k + 1) + k) % 97) + 1;
}

/* Tells why a call failed. */
static int told(const char *name, int error) {
    static const char *const texts[] = {
        "no error", "out of memory", "an array is too large", "a size is not what it has to be", "no room for the results",
        "the device failed"};
    if (error) printf("  %s: %s\n", name, texts[error > 0 && error < 6 ? error : 5]);
    return error;
}

/* Is there as much as expected? */
static inline int compare_count(const char *name, int64_t found, int64_t expected) {
    if (found != expected) printf("  %s: %lld counted, expected %lld, WRONG\n", name, (long long)found, (long long)expected);
    return found == expected;
}

/* Prints how far a result is off; `expected` holds every `stride`-th element. Where the tolerance is negative all bits count. */
static inline int compare(
    const char *name, const void *found, const void *expected, size_t each, double (*number)(const void *), int64_t samples,
    int64_t stride, double tolerance) {
    double worst = 0.0;
    int right = 1;
    for (int64_t k = 0; k < samples; k++) {
        const char *one = (const char *)found + (size_t)(k * stride) * each;
        const char *other = (const char *)expected + (size_t)k * each;
        double a = number(one), b = number(other);
        if (memcmp(one, other, each) == 0 || (a != a && b != b) || (a == b && tolerance >= 0.0)) continue;
        double error = fabs(a - b);
        worst = error > worst || error != error ? error : worst;
        if (!(error <= tolerance * fmax(1.0, fabs(b)))) right = 0;
    }
    printf("  %s: max error %g%s\n", name, worst, right ? "" : ", WRONG");
    return right;
}

/* Prints the best time, and the bytes of arguments and results per second. */
static inline void measured(const char *name, double seconds, double bytes) {
    printf("  %s: %g us, %g GB/s\n", name, seconds * 1e6, seconds > 0.0 ? bytes / seconds / 1e9 : 0.0);
}
