struct Call {
    n: u32,
    m: u32,
}

@group(0) @binding(0) var<storage> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> across: array<i32>;
@group(0) @binding(2) var<storage, read_write> halves: array<f32>;
@group(0) @binding(3) var<uniform> call: Call;

@compute @workgroup_size(16, 16)
fn turned(@builtin(global_invocation_id) at: vec3<u32>) {
    let j = at.x;
    let i = at.y;
    if i < call.n && j < call.m {
        across[j * call.n + i] = x[i * call.m + j];
        halves[i * call.m + j] = f32(x[i * call.m + j]) * 0.5;
    }
}
