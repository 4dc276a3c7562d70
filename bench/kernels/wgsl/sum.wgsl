// A sum in two launches: every block a part, one block the parts. N is a multiple of 4.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> part: array<f32, 256>;

fn join(t: u32, own: f32) -> f32 {
    part[t] = own;
    workgroupBarrier();
    for (var d = 128u; d > 0u; d >>= 1u) {
        if t < d { part[t] += part[t + d]; }
        workgroupBarrier();
    }
    return part[0];
}

@compute @workgroup_size(256)
fn parts(@builtin(workgroup_id) b: vec3<u32>, @builtin(local_invocation_index) t: u32, @builtin(num_workgroups) blocks: vec3<u32>) {
    var own = vec4<f32>(0.0);
    for (var i = b.x * 256u + t; i < N / 4u; i += blocks.x * 256u) { own += x[i]; }
    let all = join(t, own.x + own.y + own.z + own.w);
    if t == 0u { out[b.x] = all; }
}
