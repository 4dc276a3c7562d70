// The sum of what the blocks left.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> part: array<f32, 256>;

@compute @workgroup_size(256)
fn all(@builtin(local_invocation_index) t: u32) {
    var own = 0.0;
    for (var i = t; i < N; i += 256u) { own += x[i]; }
    part[t] = own;
    workgroupBarrier();
    for (var d = 128u; d > 0u; d >>= 1u) {
        if t < d { part[t] += part[t + d]; }
        workgroupBarrier();
    }
    if t == 0u { out[0] = part[0]; }
}
