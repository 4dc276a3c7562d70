// Dispatch ceil(threads_x / 256) workgroups.
struct Sizes { threads_x: u32, x_len: u32, y_len: u32, out_len: u32, a: f32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < sizes.threads_x && thread.x < sizes.out_len {
        let v = sizes.a * select(0.0, x[thread.x], thread.x < sizes.x_len) + select(0.0, y[thread.x], thread.x < sizes.y_len);
        out[thread.x] = v;
    }
}
