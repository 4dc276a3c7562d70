// Dispatch ceil(threads_x / 16) × ceil(threads_y / 16) workgroups.
struct Sizes { threads_x: u32, threads_y: u32, A_len: u32, B_len: u32, C_len: u32, M: i32, N: i32, K: i32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

@compute @workgroup_size(16, 16)
fn matmulKernel(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x < sizes.threads_x && thread.y < sizes.threads_y {
        if i32(thread.y) < sizes.M && i32(thread.x) < sizes.N {
            let at = i32(thread.y) * sizes.K;
            var sum = 0.0;
            for (var k = 0; k < sizes.K; k++) {
                let at2 = at + k;
                let at3 = k * sizes.N + i32(thread.x);
                let v = select(0.0, A[u32(at2)], at2 >= 0 && at2 < i32(sizes.A_len)) * select(0.0, B[u32(at3)], at3 < i32(sizes.B_len));
                sum += v;
            }
            let at4 = i32(thread.y) * sizes.N + i32(thread.x);
            if at4 < i32(sizes.C_len) {
                C[u32(at4)] = sum;
            }
        }
    }
}
