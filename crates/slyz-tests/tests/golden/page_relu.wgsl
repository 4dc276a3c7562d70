// Dispatch ceil(threads_x / 256) workgroups.
struct Sizes { threads_x: u32, input_len: u32, output_len: u32 }

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn relu(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < sizes.threads_x && thread.x < sizes.output_len {
        output[thread.x] = max(0.0, select(0.0, input[thread.x], thread.x < sizes.input_len));
    }
}
