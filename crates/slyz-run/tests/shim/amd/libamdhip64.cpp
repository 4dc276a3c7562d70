// A stand-in for AMD's runtime: two GPUs, one of each kind, which are this CPU. Kernels are those of the stand-in for hiprtc.
//
// What is given to a stream is done when the call comes back.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

namespace {

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200, NOT_FOUND = 500, LAUNCH_FAILURE = 719, NOT_SUPPORTED = 801 };

const char* const ARCHITECTURES[] = {"gfx90a:sramecc+:xnack-", "gfx1100"};
const int GPUS = 2;
const size_t MEMORY = (size_t)1 << 30;

thread_local int current = 0;
std::mutex lock;
std::map<void*, size_t> taken;
size_t used = 0;

typedef int (*Launch)(void* const* arguments, const unsigned* grid, const unsigned* block, bool meets);
typedef std::chrono::steady_clock Clock;

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* hipGetErrorString(int error) {
    switch (error) {
    case OK: return "no error";
    case OUT_OF_MEMORY: return "out of memory";
    case INVALID_DEVICE: return "invalid device ordinal";
    case INVALID_IMAGE: return "device kernel image is invalid";
    case NOT_FOUND: return "named symbol not found";
    case LAUNCH_FAILURE: return "unspecified launch failure";
    default: return "invalid argument";
    }
}

EXPORT int hipInit(unsigned) { return OK; }
EXPORT int hipGetDeviceCount(int* count) { return *count = GPUS, OK; }
EXPORT int hipSetDevice(int number) { return number >= 0 && number < GPUS ? (current = number, OK) : INVALID_DEVICE; }
EXPORT int hipDeviceGetName(char* name, int length, int number) { return snprintf(name, length, "stand-in %d", number), OK; }
EXPORT int hipDeviceTotalMem(size_t* bytes, int) { return *bytes = MEMORY, OK; }

// The struct is not AMD's: it has the architecture somewhere behind the name.
EXPORT int hipGetDevicePropertiesR0600(void* properties, int number) {
    memset(properties, 0, 1472);
    strcpy((char*)properties, "gfx is no architecture");
    strcpy((char*)properties + 1160, ARCHITECTURES[number]);
    return OK;
}

// ---- memory, with anything in it

EXPORT int hipMalloc(void** address, size_t bytes) {
    std::lock_guard<std::mutex> guard(lock);
    if (bytes > MEMORY - used) return OUT_OF_MEMORY;
    *address = malloc(bytes);
    memset(*address, 0xff, bytes);
    taken[*address] = bytes;
    used += bytes;
    return OK;
}
EXPORT int hipFree(void* address) {
    std::lock_guard<std::mutex> guard(lock);
    auto found = taken.find(address);
    if (found == taken.end()) return INVALID;
    used -= found->second;
    taken.erase(found);
    free(address);
    return OK;
}
// The second GPU has no memory in the order of a stream, as some have none.
EXPORT int hipMallocAsync(void** address, size_t bytes, void*) { return current == 1 ? NOT_SUPPORTED : hipMalloc(address, bytes); }
EXPORT int hipFreeAsync(void* address, void*) { return current == 1 ? NOT_SUPPORTED : hipFree(address); }
EXPORT int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
    return kind < 1 || kind > 3 ? INVALID : (memmove(to, from, bytes), OK);
}

// ---- streams and events

EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) { return *stream = malloc(1), OK; }
EXPORT int hipStreamSynchronize(void*) { return OK; }
EXPORT int hipStreamDestroy(void* stream) { return free(stream), OK; }
EXPORT int hipEventCreate(void** event) { return *event = new Clock::time_point, OK; }
EXPORT int hipEventRecord(void* event, void*) { return *(Clock::time_point*)event = Clock::now(), OK; }
EXPORT int hipEventSynchronize(void*) { return OK; }
EXPORT int hipEventElapsedTime(float* milliseconds, void* start, void* end) {
    std::chrono::duration<float, std::milli> between = *(Clock::time_point*)end - *(Clock::time_point*)start;
    return *milliseconds = between.count(), OK;
}
EXPORT int hipEventDestroy(void* event) { return delete (Clock::time_point*)event, OK; }

// ---- kernels

// An image is a mark, a length, and a library of the system.
EXPORT int hipModuleLoadData(void** module, const void* image) {
    uint64_t length;
    if (memcmp(image, "standin", 8) != 0) return INVALID_IMAGE;
    memcpy(&length, (const char*)image + 8, 8);
    char path[] = "/tmp/slyz_stand_in_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return INVALID_IMAGE;
    bool written = write(file, (const char*)image + 16, length) == (ssize_t)length;
    close(file);
    *module = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path);
    return *module ? OK : INVALID_IMAGE;
}
EXPORT int hipModuleUnload(void* module) { return dlclose(module), OK; }
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
    *function = dlsym(module, ("launch_" + std::string(name)).c_str());
    return *function ? OK : NOT_FOUND;
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned,
                                 void*, void** arguments, void**) {
    // A kernel's shared memories are there once.
    std::lock_guard<std::mutex> guard(lock);
    unsigned grid[] = {x, y, z}, block[] = {bx, by, bz};
    return ((Launch)function)(arguments, grid, block, true) == 0 ? OK : LAUNCH_FAILURE;
}
