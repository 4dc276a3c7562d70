struct Call {
    a: f32,
    n: u32,
}

@group(0) @binding(0) var<storage> x: array<f32>;
@group(0) @binding(1) var<storage> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;
@group(0) @binding(3) var<uniform> call: Call;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < call.n {
        result[at.x] = call.a * x[at.x] + y[at.x];
    }
}
