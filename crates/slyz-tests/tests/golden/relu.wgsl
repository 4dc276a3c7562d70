// Dispatch min(ceil(N / 256), 65535) workgroups.
struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn relu(@builtin(global_invocation_id) thread: vec3<u32>) {
    let stride = min((sizes.N + 255u) / 256u, 65535u) * 256u;
    for (var i = thread.x; i < sizes.N; i += stride) {
        output[i] = max(x[i], 0.0);
    }
}
