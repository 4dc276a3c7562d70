/* Asks for huge pages, where the system has them. Refusal means small pages. */
#include "lanes.h"

extern int madvise(void *start, __SIZE_TYPE__ bytes, int advice);

void huge_pages(void *start, u64 bytes) {
#if defined __linux__
    enum { ADVISE_HUGE = 14 };
    madvise(start, bytes, ADVISE_HUGE);
#else
    NOT_USED(start), NOT_USED(bytes);
#endif
}
