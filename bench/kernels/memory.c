/* What Rust's standard library does not give: huge pages, and the time that a thread was on a processor. */
#include "lanes.h"

extern int madvise(void *start, __SIZE_TYPE__ bytes, int advice);

/* Refusal means small pages. */
void huge_pages(void *start, u64 bytes) {
#if defined __linux__
    enum { ADVISE_HUGE = 14 };
    madvise(start, bytes, ADVISE_HUGE);
#else
    NOT_USED(start), NOT_USED(bytes);
#endif
}

struct time { long seconds, nanoseconds; };
extern int clock_gettime(int clock, struct time *time);

/* Seconds that the calling thread was on a processor. */
double thread_seconds(void) {
#if defined __linux__
    enum { THREAD_CPU_TIME = 3 };
#else
    enum { THREAD_CPU_TIME = 16 };
#endif
    struct time t = {0, 0};
    clock_gettime(THREAD_CPU_TIME, &t);
    return (double)t.seconds + 1e-9 * (double)t.nanoseconds;
}
