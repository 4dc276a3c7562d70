// out = max(0, x), one thread an element.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn plain(@builtin(workgroup_id) block: vec3<u32>, @builtin(num_workgroups) blocks: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let i = (block.y * blocks.x + block.x) * 256u + t;
    if (i < N) {
        out[i] = max(0.0, x[i]);
    }
}
