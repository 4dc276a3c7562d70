// The sum of each row of a ROWS x COLUMNS matrix, a block per row; COLUMNS is a multiple of 4.
override ROWS: u32;
override COLUMNS: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> part: array<f32, 256>;

@compute @workgroup_size(256)
fn rows(@builtin(workgroup_id) b: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    var own = vec4<f32>(0.0);
    for (var i = t; i < COLUMNS / 4u; i += 256u) { own += x[b.x * (COLUMNS / 4u) + i]; }
    part[t] = own.x + own.y + own.z + own.w;
    workgroupBarrier();
    for (var d = 128u; d > 0u; d >>= 1u) {
        if t < d { part[t] += part[t + d]; }
        workgroupBarrier();
    }
    if t == 0u { out[b.x] = part[0]; }
}
