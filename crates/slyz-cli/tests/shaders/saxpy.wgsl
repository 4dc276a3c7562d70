// Dispatch min(ceil(N / 256), 65535) workgroups.
struct Sizes { N: u32, arg0: f32 }

@group(0) @binding(0) var<storage, read> input1: array<f32>;
@group(0) @binding(1) var<storage, read> input2: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) thread: vec3<u32>) {
    let stride = min((sizes.N + 255u) / 256u, 65535u) * 256u;
    for (var i = thread.x; i < sizes.N; i += stride) {
        output[i] = sizes.arg0 * input1[i] + input2[i];
    }
}
