// Kernels for GPUs on a CPU: what the shims of Metal, CUDA and HIP stand on.
//
// A block runs on one thread of the machine. Where its threads meet (barriers, subgroups), each is a fiber that runs until it has to
// wait; an operation of a subgroup is done by the lanes that wait at the same place in the code, when no lane of the subgroup can go
// on. A barrier that not all threads reach is reported.
//
// A place in the code is the calls that lead to it, by their return addresses. So nothing may be inlined, merged or copied: kernels
// are compiled without optimisation, and with frame pointers.
//
// No header of the C library is included: kernels have names of their own.
#pragma once

#include <stddef.h>
#include <stdint.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct uint3 { uint x, y, z; };

namespace shim {

template <class To, class From> inline To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From), "bits keep their width");
    To to;
    __builtin_memcpy(&to, &x, sizeof to);
    return to;
}

} // namespace shim

// ---- floats of 16 bits, and numbers rounded to odd

namespace shim {
inline uint bits_of(float x) { return bits_as<uint>(x); }
inline float from_bits(uint x) { return bits_as<float>(x); }

// The neighbour of x with its last bit set, unless x is a float: rounding that again rounds x once.
inline float odd(double x) {
    float near = (float)x;
    if (x != x || (double)near == x) return near;
    uint bits = bits_of(near);
    double size = near < 0 ? -(double)near : near, wanted = x < 0 ? -x : x;
    return from_bits((size > wanted ? bits - 1 : bits) | 1);
}
inline double sticky(uint64_t x) {
    if (x >> 53 == 0) return (double)x;
    int drop = 64 - __builtin_clzll(x) - 52;
    uint64_t kept = x >> drop;
    return (double)(kept | ((kept << drop) != x)) * (double)((uint64_t)1 << drop);
}
inline double sticky(int64_t x) { return x < 0 ? -sticky((uint64_t)0 - (uint64_t)x) : sticky((uint64_t)x); }

inline uint16_t to_half(float x) {
    uint bits = bits_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    if (a > 0x7f800000) return sign | 0x7e00;
    if (a >= 0x47800000) return sign | 0x7c00;
    if (a < 0x33000000) return sign;
    int e = (int)(a >> 23) - 127;
    uint m = (a & 0x7fffff) | 0x800000;
    int shift = e < -14 ? 13 + (-14 - e) : 13;
    uint kept = m >> shift, rest = m & ((1u << shift) - 1), tie = 1u << (shift - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    return sign + (e < -14 ? kept : kept + ((uint)(e + 14) << 10));
}
inline float from_half(uint16_t h) {
    uint sign = (uint)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return from_bits(sign | 0x7f800000 | m << 13);
    if (e == 0) return from_bits(sign | bits_of((float)m * 0x1p-24f));
    return from_bits(sign | (e + 112) << 23 | m << 13);
}
inline uint16_t to_bfloat(float x) {
    uint bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float from_bfloat(uint16_t b) { return from_bits((uint)b << 16); }
} // namespace shim

// ---- fibers

namespace shim {

enum State { READY, AT_BARRIER, AT_SUBGROUP, DONE };

// Where a thread of a launch stands.
struct Thread {
    uint3 tid, lid, gid, groups, block;
    uint lane;
};

// A place in the code: return addresses, the innermost first.
struct Place {
    static const int MOST = 16;
    int depth;
    const void* calls[MOST];
};

// Negative where `a` comes before `b` in the text, 0 where they are the same.
static int order(const Place& a, const Place& b) {
    for (int k = 1; k <= a.depth && k <= b.depth; ++k) {
        uintptr_t x = (uintptr_t)a.calls[a.depth - k], y = (uintptr_t)b.calls[b.depth - k];
        if (x != y) return x < y ? -1 : 1;
    }
    return a.depth - b.depth;
}

struct Fiber {
    void* sp;
    char* stack;
    void** base;
    State state;
    Place place;
    Thread thread;
    uint number;
#if !defined(__x86_64__)
    ucontext_t context;
#endif
};

static const int MOST_LANES = 64;

struct Subgroup {
    uint64_t waiting[MOST_LANES], met[MOST_LANES];
    uint64_t active;
};

typedef void (*Code)(const void* arguments);

// A launch, as whoever launches says it.
struct Work {
    Code code;
    const void* arguments;
    // Threads where there are exactly so many, and blocks otherwise.
    const uint* extent;
    const uint* block;
    bool exact;
    // Do threads wait for each other?
    bool meets;
    uint lanes;
    // Memories of a block, which begins with ones in them.
    int shared_count;
    void* const* shared;
    const size_t* shared_bytes;
};

struct Launch {
    const Work* work;
    const Thread* thread;
    Fiber* fibers;
    Subgroup* subgroups;
    Fiber* current;
    void* scheduler;
#if !defined(__x86_64__)
    ucontext_t context;
#endif
};

inline Launch*& launch() {
    static thread_local Launch* launch = nullptr;
    return launch;
}
inline const Thread& here() { return *launch()->thread; }
inline uint lane() { return here().lane; }
inline uint lanes() { return launch()->work->lanes; }

#if defined(__x86_64__)
extern "C" void slyz_shim_switch(void** from, void* to) __attribute__((visibility("hidden")));
asm(R"(
.text
.hidden slyz_shim_switch
.globl slyz_shim_switch
slyz_shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
static void leave(Launch* l) { slyz_shim_switch(&l->current->sp, l->scheduler); }
static void switch_to(Launch* l, Fiber* f) { slyz_shim_switch(&l->scheduler, f->sp); }
#else
static void leave(Launch* l) { swapcontext(&l->current->context, &l->context); }
static void switch_to(Launch* l, Fiber* f) { swapcontext(&l->context, &f->context); }
#endif

static void enter(Launch* l, Fiber* f) {
    l->current = f;
    l->thread = &f->thread;
    switch_to(l, f);
}

static void fiber_main() {
    Launch* l = launch();
    l->current->base = (void**)__builtin_frame_address(0);
    l->work->code(l->work->arguments);
    l->current->state = DONE;
    leave(l);
}

static const size_t STACK = 128 << 10;

static void prepare(Fiber* f) {
    if (!f->stack) f->stack = (char*)__builtin_malloc(STACK);
    f->state = READY;
#if defined(__x86_64__)
    void** top = (void**)(((uintptr_t)f->stack + STACK) & ~(uintptr_t)15);
    top[-2] = (void*)fiber_main;
    __builtin_memset(top - 8, 0, 6 * sizeof(void*));
    f->sp = top - 8;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fiber_main, 0);
#endif
}

// Waits at the place where this is called.
static void wait_as(State state) {
    Launch* l = launch();
    Fiber* f = l->current;
    f->place.depth = 0;
    for (void** frame = (void**)__builtin_frame_address(0); frame != f->base; frame = (void**)frame[0]) {
        if (f->place.depth == Place::MOST) __builtin_trap();
        f->place.calls[f->place.depth++] = frame[1];
    }
    f->state = state;
    leave(l);
}

// Gives a value to the subgroup, waits for the lanes at the same place, and says who was there.
template <class T> static uint64_t meet(T mine, T* all) {
    static_assert(sizeof(T) <= 8, "lanes exchange at most 8 bytes");
    Launch* l = launch();
    uint number = l->current->number, lanes = l->work->lanes;
    Subgroup& group = l->subgroups[number / lanes];
    __builtin_memcpy(&group.waiting[number % lanes], &mine, sizeof mine);
    wait_as(AT_SUBGROUP);
    for (uint k = 0; k < lanes; ++k) __builtin_memcpy(&all[k], &group.met[k], sizeof mine);
    return group.active;
}

// The lanes that are here.
static uint64_t active_lanes() {
    bool all[MOST_LANES];
    return meet(true, all);
}

// The lanes that are here and say yes.
static uint64_t ballot(bool x) {
    bool all[MOST_LANES];
    uint64_t active = meet(x, all), bits = 0;
    for (uint k = 0; k < lanes(); ++k)
        if (active >> k & 1) bits |= (uint64_t)all[k] << k;
    return bits;
}

// What a lane has. Of one that is not there: nothing that a right program could use.
template <class T> inline T from_lane(T x, int64_t lane) {
    T all[MOST_LANES], nothing;
    uint64_t active = meet(x, all);
    __builtin_memset(&nothing, 0xa5, sizeof nothing);
    return lane >= 0 && lane < lanes() && (active >> lane & 1) ? all[lane] : nothing;
}

// What a lane further down or up has; at the end, its own.
template <class T> inline T from_neighbour(T x, int64_t lane) {
    T found = from_lane(x, lane);
    return lane < 0 || lane >= lanes() ? x : found;
}

// Lets the lanes that wait at one place go on, the first in the text; false where none waits.
static bool release_subgroups(Launch* l, uint threads) {
    bool released = false;
    uint lanes = l->work->lanes;
    for (uint start = 0; start < threads; start += lanes) {
        uint end = start + lanes < threads ? start + lanes : threads;
        const Place* place = nullptr;
        for (uint k = start; k < end; ++k) {
            Fiber& f = l->fibers[k];
            if (f.state == AT_SUBGROUP && (!place || order(f.place, *place) < 0)) place = &f.place;
        }
        if (!place) continue;
        Subgroup& group = l->subgroups[start / lanes];
        group.active = 0;
        for (uint k = start; k < end; ++k) {
            Fiber& f = l->fibers[k];
            if (f.state != AT_SUBGROUP || order(f.place, *place) != 0) continue;
            group.met[k - start] = group.waiting[k - start];
            group.active |= (uint64_t)1 << (k - start);
            f.state = READY;
        }
        released = true;
    }
    return released;
}

// Runs the threads of a block to their end. 0, or 1 where a barrier is not reached by all.
static int run_block(Launch* l, uint threads) {
    for (;;) {
        for (uint k = 0; k < threads; ++k)
            if (l->fibers[k].state == READY) enter(l, &l->fibers[k]);
        if (release_subgroups(l, threads)) continue;
        uint waiting = 0;
        for (uint k = 0; k < threads; ++k) waiting += l->fibers[k].state == AT_BARRIER;
        if (waiting == 0) return 0;
        if (waiting != threads) return 1;
        for (uint k = 0; k < threads; ++k) {
            if (order(l->fibers[k].place, l->fibers[0].place) != 0) return 1;
            l->fibers[k].state = READY;
        }
    }
}

// Runs exactly the threads of a launch, which do not meet.
static void run_threads(Launch* l) {
    Thread thread;
    __builtin_memset(&thread, 0, sizeof thread);
    l->thread = &thread;
    const Work& work = *l->work;
    for (thread.tid.z = 0; thread.tid.z < work.extent[2]; ++thread.tid.z)
        for (thread.tid.y = 0; thread.tid.y < work.extent[1]; ++thread.tid.y)
            for (thread.tid.x = 0; thread.tid.x < work.extent[0]; ++thread.tid.x) work.code(work.arguments);
}

// Runs the blocks of a launch. 0, or 1 where a barrier is not reached by all.
static int run_blocks(Launch* l) {
    const Work& work = *l->work;
    const uint *extent = work.extent, *block = work.block;
    uint threads = block[0] * block[1] * block[2];
    l->fibers = (Fiber*)__builtin_calloc(threads, sizeof(Fiber));
    l->subgroups = (Subgroup*)__builtin_calloc((threads + work.lanes - 1) / work.lanes, sizeof(Subgroup));
    int failed = 0;
    for (uint z = 0; z < extent[2] && !failed; ++z)
        for (uint y = 0; y < extent[1] && !failed; ++y)
            for (uint x = 0; x < extent[0] && !failed; ++x) {
                for (int k = 0; k < work.shared_count; ++k) __builtin_memset(work.shared[k], 0xff, work.shared_bytes[k]);
                for (uint k = 0; k < threads; ++k) {
                    Thread& thread = l->fibers[k].thread;
                    thread.gid = {x, y, z};
                    thread.groups = {extent[0], extent[1], extent[2]};
                    thread.block = {block[0], block[1], block[2]};
                    thread.lid = {k % block[0], k / block[0] % block[1], k / block[0] / block[1]};
                    thread.tid = {x * block[0] + thread.lid.x, y * block[1] + thread.lid.y, z * block[2] + thread.lid.z};
                    thread.lane = k % work.lanes;
                    l->fibers[k].number = k;
                    l->thread = &thread;
                    if (work.meets) prepare(&l->fibers[k]);
                    else work.code(work.arguments);
                }
                if (work.meets) failed = run_block(l, threads);
            }
    for (uint k = 0; k < threads; ++k) __builtin_free(l->fibers[k].stack);
    __builtin_free(l->fibers);
    __builtin_free(l->subgroups);
    return failed;
}

// Runs a launch.
static int run(const Work& work) {
    Launch l;
    __builtin_memset(&l, 0, sizeof l);
    l.work = &work;
    launch() = &l;
    int failed = 0;
    if (work.exact) run_threads(&l);
    else failed = run_blocks(&l);
    launch() = nullptr;
    return failed;
}

} // namespace shim
