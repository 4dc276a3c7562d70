// Checks the kernel of attention.cu against a reference in f64 in all its forms, and times it.
//     nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a attention_check.cu -o check && ./check
// KERNEL names another file, WIDTHS (64 or 128) leaves out the other width; `./check fast` does the times and two shapes only.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

#ifndef KERNEL
#define KERNEL "../../../crates/slyz/src/attention.cu"
#endif
#ifndef WIDTHS
#define WIDTHS 0
#endif

#if WIDTHS != 128
namespace h64 {
#define WIDTH 64
#define OF_TYPE "f16"
#define HALVES 1
#define CAUSAL 0
#define attention attention_h64
#include KERNEL
#include "attention_forget.h"
}
namespace h64c {
#define WIDTH 64
#define OF_TYPE "f16"
#define HALVES 1
#define CAUSAL 1
#define attention attention_h64c
#include KERNEL
#include "attention_forget.h"
}
namespace b64 {
#define WIDTH 64
#define OF_TYPE "bf16"
#define HALVES 0
#define CAUSAL 0
#define attention attention_b64
#include KERNEL
#include "attention_forget.h"
}
namespace b64c {
#define WIDTH 64
#define OF_TYPE "bf16"
#define HALVES 0
#define CAUSAL 1
#define attention attention_b64c
#include KERNEL
#include "attention_forget.h"
}
#endif
#if WIDTHS != 64
namespace h128 {
#define WIDTH 128
#define OF_TYPE "f16"
#define HALVES 1
#define CAUSAL 0
#define attention attention_h128
#include KERNEL
#include "attention_forget.h"
}
namespace h128c {
#define WIDTH 128
#define OF_TYPE "f16"
#define HALVES 1
#define CAUSAL 1
#define attention attention_h128c
#include KERNEL
#include "attention_forget.h"
}
namespace b128 {
#define WIDTH 128
#define OF_TYPE "bf16"
#define HALVES 0
#define CAUSAL 0
#define attention attention_b128
#include KERNEL
#include "attention_forget.h"
}
namespace b128c {
#define WIDTH 128
#define OF_TYPE "bf16"
#define HALVES 0
#define CAUSAL 1
#define attention attention_b128c
#include KERNEL
#include "attention_forget.h"
}
#endif

#define CHECKED(call)                                                                        \
    do {                                                                                     \
        cudaError_t error = (call);                                                          \
        if (error != cudaSuccess) {                                                          \
            printf("%s: %s\n", #call, cudaGetErrorString(error));                            \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

typedef unsigned short bits;
typedef void (*Kernel)(const bits *, const bits *, const bits *, bits *, float, long long, long long);
struct Form {
    const char *name;
    Kernel kernel;
    int width, halves, causal, rows, threads;
};

__device__ double number_of(bits x, int halves) {
    return halves ? (double)__half2float(__ushort_as_half(x)) : (double)__bfloat162float(__ushort_as_bfloat16(x));
}

// A block a query.
__global__ void reference(const bits *q, const bits *k, const bits *v, double *result, long long n, long long m, int width, int halves, int causal) {
    extern __shared__ double score[];
    __shared__ double part[128];
    const long long row = blockIdx.x % n, group = blockIdx.x / n;
    const long long seen = causal && row + 1 < m ? row + 1 : m;
    double most = -INFINITY;
    for (long long j = threadIdx.x; j < seen; j += 128) {
        double s = 0;
        for (int w = 0; w < width; w++) s += number_of(q[(group * n + row) * width + w], halves) * number_of(k[(group * m + j) * width + w], halves);
        score[j] = s / sqrt((double)width);
        most = fmax(most, score[j]);
    }
    part[threadIdx.x] = most;
    __syncthreads();
    for (int i = 0; i < 128; i++) most = fmax(most, part[i]);
    for (long long j = threadIdx.x; j < seen; j += 128) score[j] = exp(score[j] - most);
    __syncthreads();
    if (threadIdx.x >= width) return;
    double sum = 0, all = 0;
    for (long long j = 0; j < seen; j++) {
        sum += score[j] * number_of(v[(group * m + j) * width + threadIdx.x], halves);
        all += score[j];
    }
    result[(group * n + row) * width + threadIdx.x] = m == 0 ? 0 : sum / all;
}

static unsigned long long seed = 1;
static double uniform() {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return ((seed >> 33) + 0.5) / 2147483648.0;
}
static float normal() { return (float)(sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform())); }
static bits rounded_to(float x, int halves) {
    bits b;
    if (halves) {
        __half h = __float2half(x);
        memcpy(&b, &h, 2);
    } else {
        __nv_bfloat16 h = __float2bfloat16(x);
        memcpy(&b, &h, 2);
    }
    return b;
}
static double value_of(bits b, int halves) {
    if (halves) {
        __half h;
        memcpy(&h, &b, 2);
        return __half2float(h);
    }
    __nv_bfloat16 h;
    memcpy(&h, &b, 2);
    return __bfloat162float(h);
}

const size_t PAST = 32768; // elements behind each array, that are no numbers
static bits *numbers(size_t count, float by, int halves) {
    static std::vector<float> pool;
    if (pool.empty())
        for (int i = 0; i < 1 << 20; i++) pool.push_back(normal());
    std::vector<bits> scaled(pool.size());
    for (size_t i = 0; i < pool.size() && i < count; i++) scaled[i] = rounded_to(by * pool[(i * 5 + (seed >> 40)) & (pool.size() - 1)], halves);
    std::vector<bits> host(count + PAST, 0xffff);
    for (size_t at = 0; at < count;) {
        const size_t from = count < pool.size() ? 0 : (size_t)(uniform() * pool.size() / 2);
        const size_t some = std::min(count - at, pool.size() - from);
        memcpy(&host[at], &scaled[from], some * 2);
        at += some;
    }
    uniform();
    bits *device;
    CHECKED(cudaMalloc(&device, host.size() * 2));
    CHECKED(cudaMemcpy(device, host.data(), host.size() * 2, cudaMemcpyHostToDevice));
    return device;
}

static bool check(const Form &form, long long groups, long long n, long long m, float by) {
    const size_t count = groups * n * form.width;
    bits *q = numbers(count, by, form.halves), *k = numbers(groups * m * form.width, 1, form.halves), *v = numbers(groups * m * form.width, 1, form.halves);
    bits *result;
    double *right;
    CHECKED(cudaMalloc(&result, (count + PAST) * 2));
    CHECKED(cudaMemset(result, 0xff, (count + PAST) * 2));
    CHECKED(cudaMalloc(&right, count * 8));
    CHECKED(cudaFuncSetAttribute(reference, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    reference<<<groups * n, 128, m * 8>>>(q, k, v, right, n, m, form.width, form.halves, form.causal);
    form.kernel<<<groups * ((n + form.rows - 1) / form.rows), form.threads>>>(q, k, v, result, 1 / sqrtf(form.width), n, m);
    CHECKED(cudaGetLastError());
    CHECKED(cudaDeviceSynchronize());
    std::vector<bits> got(count + PAST);
    std::vector<double> want(count);
    CHECKED(cudaMemcpy(got.data(), result, got.size() * 2, cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(want.data(), right, count * 8, cudaMemcpyDeviceToHost));
    double worst = 0, off = 0, all = 0, largest = 0;
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs(value_of(got[i], form.halves) - want[i]);
        if (!(d < 1e30)) good = false;
        worst = std::max(worst, d);
        largest = std::max(largest, fabs(want[i]));
        off += d * d;
        all += want[i] * want[i];
    }
    for (size_t i = count; i < got.size(); i++)
        if (got[i] != 0xffff) good = false;
    const double norm = all > 0 ? sqrt(off / all) : sqrt(off);
    const double unit = form.halves ? 1.0 / 2048 : 1.0 / 256;
    if (!(worst <= 1.5 * unit * std::max(largest, 1e-3)) || !(norm <= 1.5 * unit)) good = false;
    if (!good || getenv("ALL")) printf("%-6s %lld x %lld, %lld keys, q * %g: largest error %.2e of values to %.2e, norm of error %.2e %s\n", form.name, groups, n, m, by, worst, largest, norm, good ? "" : "WRONG");
    cudaFree(q), cudaFree(k), cudaFree(v), cudaFree(result), cudaFree(right);
    return good;
}

static float time_of(const Form &form, long long groups, long long n) {
    const size_t count = groups * n * form.width;
    bits *q = numbers(count, 1, form.halves), *k = numbers(count, 1, form.halves), *v = numbers(count, 1, form.halves), *result = numbers(count, 0, form.halves);
    cudaEvent_t from, to;
    CHECKED(cudaEventCreate(&from));
    CHECKED(cudaEventCreate(&to));
    std::vector<float> times;
    for (int i = 0; i < 25; i++) {
        CHECKED(cudaEventRecord(from));
        form.kernel<<<groups * ((n + form.rows - 1) / form.rows), form.threads>>>(q, k, v, result, 1 / sqrtf(form.width), n, n);
        CHECKED(cudaEventRecord(to));
        CHECKED(cudaEventSynchronize(to));
        float ms;
        CHECKED(cudaEventElapsedTime(&ms, from, to));
        if (i >= 5) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    cudaFree(q), cudaFree(k), cudaFree(v), cudaFree(result);
    return times[10];
}

int main(int count, char **words) {
    const bool fast = count > 1 && !strcmp(words[1], "fast");
    const Form forms[] = {
#define FORM(space, width, halves, causal) {#space, space::attention_##space, width, halves, causal, space::rows_of_block, space::threads_of_block},
#if WIDTHS != 128
        FORM(h64, 64, 1, 0) FORM(h64c, 64, 1, 1) FORM(b64, 64, 0, 0) FORM(b64c, 64, 0, 1)
#endif
#if WIDTHS != 64
        FORM(h128, 128, 1, 0) FORM(h128c, 128, 1, 1) FORM(b128, 128, 0, 0) FORM(b128c, 128, 0, 1)
#endif
    };
    int wrong = 0, shapes = 0;
    for (const Form &form : forms) {
        if (fast) {
            wrong += !check(form, 2, 1000, 1000, 1) + !check(form, 2, 200, 129, 3);
            shapes += 2;
            continue;
        }
        const long long lengths[] = {1, 63, 64, 65, 127, 128, 129, 200, 1000, 4096};
        for (long long n : lengths) wrong += !check(form, 2, n, n, 1) + !check(form, 1, n, n, 3) + !check(form, 2, n, 0, 1), shapes += 3;
        for (long long n : {1, 64, 129, 200, 1000})
            for (long long m : {1, 63, 65, 128, 200, 1000, 4096})
                if (n != m) wrong += !check(form, 3, n, m, 2), shapes++;
    }
    printf("%d of %d shapes wrong\n", wrong, shapes);
    for (const Form &form : forms) {
        cudaFuncAttributes a;
        CHECKED(cudaFuncGetAttributes(&a, form.kernel));
        if (fast && !form.halves) continue;
        const float first = time_of(form, 64, 4096);
        printf("%-6s 64 heads of 4096 x %d: %.3f ms, again %.3f (%d rows, %d threads, %d registers, %d B local, %d B shared)\n", form.name, form.width, first, time_of(form, 64, 4096), form.rows, form.threads, a.numRegs, (int)a.localSizeBytes, (int)a.sharedSizeBytes);
    }
    return wrong != 0;
}
