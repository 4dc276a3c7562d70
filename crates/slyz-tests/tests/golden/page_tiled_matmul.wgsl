// Dispatch grid_x × grid_y × grid_z workgroups.
struct Sizes { A_len: u32, B_len: u32, C_len: u32, M: i32, N: i32, K: i32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;
var<workgroup> As: array<f32, 256>;
var<workgroup> Bs: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn tiledMatmul(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let row = i32(block.y) * 16 + i32(local.y);
    let col = i32(block.x) * 16 + i32(local.x);
    let at = local.y * 16u + local.x;
    let at2 = row * sizes.K;
    var sum = 0.0;
    let end = sizes.K / 16;
    for (var tile = 0; tile < end; tile++) {
        let start = u32(tile) * 16u;
        let at3 = at2 + i32(start) + i32(local.x);
        As[at] = select(0.0, A[u32(at3)], at3 >= 0 && at3 < i32(sizes.A_len));
        let at4 = i32(start + local.y) * sizes.N + col;
        Bs[at] = select(0.0, B[u32(at4)], at4 >= 0 && at4 < i32(sizes.B_len));
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum += As[local.y * 16u + k] * Bs[k * 16u + local.x];
        }
        workgroupBarrier();
    }
    if row < sizes.M && col < sizes.N {
        let at5 = row * sizes.N + col;
        if at5 < i32(sizes.C_len) {
            C[u32(at5)] = sum;
        }
    }
}
