// Yardsticks that a person would write for an NVIDIA GPU with its own libraries: cuBLASLt, n-body and mandelbrot by hand, a bare launch, a
// graph, and copies. Prints one row a job.
//
// nvcc -O3 -std=c++17 -arch=sm_90 by_hand.cu -lcublasLt -o by_hand && ./by_hand
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <functional>
#include <vector>

#define CHECK(x) do { auto e = (x); if (int(e) != 0) { printf("%s: error %d\n", #x, int(e)); exit(1); } } while (0)

static double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Milliseconds of work on the GPU, calls one behind the other.
static double timed(std::function<void()> run, int batch = 10, int rounds = 15, int warm_up = 250) {
    // Clocks rise with work, and fall again when it is hot: nobody is timed before they have.
    auto warm = std::chrono::steady_clock::now();
    do {
        for (int b = 0; b < batch; b++) run();
        CHECK(cudaDeviceSynchronize());
    } while (std::chrono::steady_clock::now() - warm < std::chrono::milliseconds(warm_up));
    std::vector<double> times;
    for (int k = 0; k < rounds; k++) {
        auto start = std::chrono::steady_clock::now();
        for (int b = 0; b < batch; b++) run();
        CHECK(cudaDeviceSynchronize());
        times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / batch);
    }
    return median(times);
}

__global__ void fill(float* x, size_t n, unsigned seed, float low, float high) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        unsigned h = (unsigned(i) ^ seed * 0x9e3779b9u) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        x[i] = low + (high - low) * ((h >> 8) / 16777216.0f);
    }
}

__global__ void halve(const float* x, __nv_bfloat16* y, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) y[i] = x[i];
}

// A tile of bodies in shared memory at a time.
template <int Tile> __global__ void __launch_bounds__(Tile) bodies(const float4* body, float3* acceleration, int n) {
    __shared__ float4 near[Tile];
    const int i = blockIdx.x * Tile + threadIdx.x;
    const float4 me = body[i];
    float3 sum = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += Tile) {
        near[threadIdx.x] = body[start + threadIdx.x];
        __syncthreads();
#pragma unroll 32
        for (int k = 0; k < Tile; k++) {
            const float4 other = near[k];
            const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            const float q = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            const float f = other.w * q * q * q;
            sum.x += dx * f;
            sum.y += dy * f;
            sum.z += dz * f;
        }
        __syncthreads();
    }
    acceleration[i] = sum;
}

__global__ void mandelbrot(unsigned* count, int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    const float cx = -2.0f + 3.0f * j / n, cy = -1.5f + 3.0f * i / n;
    float x = 0, y = 0;
    unsigned k = 0;
    while (x * x + y * y <= 4.0f && k < 256) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        k++;
    }
    count[size_t(i) * n + j] = k;
}

__global__ void little(const float* x, float* y) {
    if (threadIdx.x < 16) y[threadIdx.x] = x[threadIdx.x] * 2.5f;
}

__device__ float normal_distribution(float x) {
    const float l = fabsf(x), k = 1.0f / (1.0f + 0.2316419f * l);
    const float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float w = 1 - 0.3989423f * expf(-l * l / 2) * poly;
    return x < 0 ? 1 - w : w;
}

__global__ void black_scholes(const float* s, const float* x, const float* t, float* price, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float r = 0.02f, v = 0.30f, root = v * sqrtf(t[i]);
    const float d = (logf(s[i] / x[i]) + (r + v * v / 2) * t[i]) / root;
    price[i] = s[i] * normal_distribution(d) - x[i] * expf(-r * t[i]) * normal_distribution(d - root);
}

struct Product {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t work;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulHeuristicResult_t found;
    void* space;
    Product(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t type, int n, cublasLtEpilogue_t epilogue, const void* bias, void* space) : handle(handle), space(space) {
        CHECK(cublasLtMatmulDescCreate(&work, compute, CUDA_R_32F));
        CHECK(cublasLtMatmulDescSetAttribute(work, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
        if (bias) CHECK(cublasLtMatmulDescSetAttribute(work, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
        CHECK(cublasLtMatrixLayoutCreate(&layout, type, n, n, n));
        cublasLtMatmulPreference_t wish;
        CHECK(cublasLtMatmulPreferenceCreate(&wish));
        size_t bytes = 32 << 20;
        CHECK(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
        int count = 0;
        CHECK(cublasLtMatmulAlgoGetHeuristic(handle, work, layout, layout, layout, layout, wish, 1, &found, &count));
    }
    void run(const void* a, const void* b, void* c) {
        const float one = 1, zero = 0;
        CHECK(cublasLtMatmul(handle, work, &one, b, layout, a, layout, &zero, c, layout, c, layout, &found.algo, space, 32 << 20, 0));
    }
};

int main() {
    const int n = 4096;
    const size_t elements = size_t(n) * n;
    float *a, *b, *c, *bias;
    __nv_bfloat16 *ha, *hb, *hc;
    void* space;
    CHECK(cudaMalloc(&a, elements * 4)); CHECK(cudaMalloc(&b, elements * 4)); CHECK(cudaMalloc(&c, elements * 4)); CHECK(cudaMalloc(&bias, n * 4));
    CHECK(cudaMalloc(&ha, elements * 2)); CHECK(cudaMalloc(&hb, elements * 2)); CHECK(cudaMalloc(&hc, elements * 2)); CHECK(cudaMalloc(&space, 32 << 20));
    fill<<<1024, 256>>>(a, elements, 1, 0, 1);
    fill<<<1024, 256>>>(b, elements, 2, 0, 1);
    fill<<<16, 256>>>(bias, n, 3, -0.5f * n, 0);
    halve<<<1024, 256>>>(a, ha, elements);
    halve<<<1024, 256>>>(b, hb, elements);
    cublasLtHandle_t handle;
    CHECK(cublasLtCreate(&handle));
    auto product = [&](const char* name, cublasComputeType_t compute, cudaDataType_t type, cublasLtEpilogue_t epilogue, const void* bias, const void* a, const void* b, void* c) {
        Product product(handle, compute, type, n, epilogue, bias, space);
        const double t = timed([&] { product.run(a, b, c); });
        printf("%-32s %8.3f ms  %7.1f TFLOP/s\n", name, t, 2.0 * n * n * n / t / 1e9);
    };
    product("cuBLASLt f32", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_DEFAULT, nullptr, a, b, c);
    product("cuBLASLt tf32", CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUBLASLT_EPILOGUE_DEFAULT, nullptr, a, b, c);
    product("cuBLASLt bf16", CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUBLASLT_EPILOGUE_DEFAULT, nullptr, ha, hb, hc);
    product("cuBLASLt relu(a b + bias) f32", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_RELU_BIAS, bias, a, b, c);
    product("cuBLASLt relu(a b + bias) tf32", CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUBLASLT_EPILOGUE_RELU_BIAS, bias, a, b, c);

    const int many = 65536;
    double t = timed([&] { bodies<256><<<many / 256, 256>>>((float4*)a, (float3*)c, many); }, 3, 9);
    printf("%-32s %8.3f ms\n", "n-body 65536 (256)", t);
    t = timed([&] { bodies<128><<<many / 128, 128>>>((float4*)a, (float3*)c, many); }, 3, 9);
    printf("%-32s %8.3f ms\n", "n-body 65536 (128)", t);
    const int picture = 8192;
    unsigned* counts;
    CHECK(cudaMalloc(&counts, size_t(picture) * picture * 4));
    t = timed([&] { mandelbrot<<<dim3(picture / 32, picture / 8), dim3(32, 8)>>>(counts, picture); });
    printf("%-32s %8.3f ms\n", "mandelbrot 8192 x 256", t);

    t = timed([&] { little<<<1, 32>>>(a, c); }, 1000);
    printf("%-32s %8.3f us\n", "bare launch", t * 1e3);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    little<<<1, 32, 0, stream>>>(a, c);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    t = timed([&] { CHECK(cudaGraphLaunch(ready, stream)); }, 1000);
    printf("%-32s %8.3f us\n", "graph of one launch", t * 1e3);

    const size_t bytes = 256 << 20;
    char *pageable = (char*)malloc(bytes), *pinned, *there;
    std::fill(pageable, pageable + bytes, 1);
    CHECK(cudaMallocHost(&pinned, bytes));
    CHECK(cudaMalloc(&there, bytes));
    auto copy = [&](const char* name, void* to, const void* from, cudaMemcpyKind kind) {
        const double t = timed([&] { CHECK(cudaMemcpy(to, from, bytes, kind)); }, 1, 9);
        printf("%-32s %8.1f GB/s\n", name, bytes / t / 1e6);
    };
    copy("cudaMemcpy to, pageable", there, pageable, cudaMemcpyHostToDevice);
    copy("cudaMemcpy from, pageable", pageable, there, cudaMemcpyDeviceToHost);
    copy("cudaMemcpy to, pinned", there, pinned, cudaMemcpyHostToDevice);
    copy("cudaMemcpy from, pinned", pinned, there, cudaMemcpyDeviceToHost);
    const double fresh = timed([&] { char* p = (char*)malloc(bytes); CHECK(cudaMemcpy(p, there, bytes, cudaMemcpyDeviceToHost)); free(p); }, 1, 9);
    printf("%-32s %8.1f GB/s\n", "cudaMemcpy from, into new memory", bytes / fresh / 1e6);

    // Nikola's figure 4: calls that are waited for, by size.
    for (unsigned options = 16; options <= 1u << 26; options *= 2) {
        std::vector<float> here[3] = {std::vector<float>(options, 50), std::vector<float>(options, 60), std::vector<float>(options, 1)};
        std::vector<float> back(options);
        float* there[4];
        for (auto& p : there) CHECK(cudaMalloc(&p, options * 4));
        auto launch = [&] { black_scholes<<<(options + 255) / 256, 256>>>(there[0], there[1], there[2], there[3], options); };
        auto resident = [&] { launch(); CHECK(cudaDeviceSynchronize()); };
        auto travelling = [&] {
            for (int k = 0; k < 3; k++) CHECK(cudaMemcpy(there[k], here[k].data(), options * 4, cudaMemcpyHostToDevice));
            launch();
            CHECK(cudaMemcpy(back.data(), there[3], options * 4, cudaMemcpyDeviceToHost));
        };
        const int batch = std::max(1u, 16384 / options);
        printf("curve %u %g CUDA by hand, resident\n", options, timed(resident, batch, 9, 10) / 1e3 / options);
        printf("curve %u %g CUDA by hand, with transfers\n", options, timed(travelling, batch, 9, 10) / 1e3 / options);
        for (auto& p : there) CHECK(cudaFree(p));
    }
    return 0;
}
