// A loop as a graph whose turns are repeated by a conditional node, and nothing else: what NVIDIA's tools say of such a graph, without any code of ours.
//
//     nvcc -arch=native -rdc=true -lcudadevrt while_graph.cu -o while_graph && ./while_graph          memory by cudaMalloc
//     ./while_graph pool                                                                              by cudaMallocAsync
//     compute-sanitizer --tool memcheck ./while_graph
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            printf("%s: %s\n", #call, cudaGetErrorString(error));                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__global__ void turn(int* x, cudaGraphConditionalHandle again) {
    *x += 1;
    cudaGraphSetConditional(again, *x < 1000);
}

int main(int count, char**) {
    cudaStream_t stream;
    TRY(cudaStreamCreate(&stream));
    int* x;
    if (count > 1) TRY(cudaMallocAsync(&x, sizeof(int), stream));
    else TRY(cudaMalloc(&x, sizeof(int)));
    TRY(cudaMemsetAsync(x, 0, sizeof(int), stream));

    cudaGraph_t graph;
    TRY(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle again;
    TRY(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = again;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    cudaGraphNode_t loop;
#if CUDART_VERSION >= 13000
    TRY(cudaGraphAddNode(&loop, graph, nullptr, nullptr, 0, &params));
#else
    TRY(cudaGraphAddNode(&loop, graph, nullptr, 0, &params));
#endif
    cudaGraph_t body = params.conditional.phGraph_out[0];
    TRY(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    turn<<<1, 1, 0, stream>>>(x, again);
    TRY(cudaGetLastError());
    TRY(cudaStreamEndCapture(stream, &body));
    cudaGraphExec_t program;
    TRY(cudaGraphInstantiate(&program, graph, 0));
    for (int call = 0; call < 3; call++) {
        TRY(cudaMemsetAsync(x, 0, sizeof(int), stream));
        TRY(cudaGraphLaunch(program, stream));
        int turns = 0;
        TRY(cudaMemcpyAsync(&turns, x, sizeof(int), cudaMemcpyDeviceToHost, stream));
        TRY(cudaStreamSynchronize(stream));
        printf("%d turns\n", turns);
    }
}
