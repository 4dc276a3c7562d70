// out = a * x + y, one element a thread at a time.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn plain(@builtin(global_invocation_id) g: vec3<u32>, @builtin(num_workgroups) blocks: vec3<u32>) {
    for (var i = g.x; i < N; i += blocks.x * 256u) {
        out[i] = 2.5 * x[i] + y[i];
    }
}
