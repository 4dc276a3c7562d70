// Dispatch ceil(threads_x / 256) workgroups.
struct Sizes { threads_x: u32, a_len: u32, b_len: u32, result_len: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn vectorAdd(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < sizes.threads_x && thread.x < sizes.result_len {
        result[thread.x] = select(0.0, a[thread.x], thread.x < sizes.a_len) + select(0.0, b[thread.x], thread.x < sizes.b_len);
    }
}
