// A copy, four elements a thread: drivers copy buffers by engines that can be slower. N is a multiple of 4.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(256)
fn four(@builtin(global_invocation_id) g: vec3<u32>, @builtin(num_workgroups) blocks: vec3<u32>) {
    for (var i = g.x; i < N / 4u; i += blocks.x * 256u) {
        out[i] = x[i];
    }
}
