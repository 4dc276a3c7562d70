// c = a b for square matrices whose side N is a multiple of 64: tiles of 64 x 64, 4 x 4 sums a thread.
override N: u32;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> left: array<f32, 1040>;
var<workgroup> right: array<f32, 1024>;

@compute @workgroup_size(16, 16)
fn tiles(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    var s0 = vec4<f32>(0.0);
    var s1 = vec4<f32>(0.0);
    var s2 = vec4<f32>(0.0);
    var s3 = vec4<f32>(0.0);
    for (var k0 = 0u; k0 < N; k0 += 16u) {
        for (var q = l; q < 1024u; q += 256u) {
            left[(q & 15u) * 65u + (q >> 4u)] = a[(g.y * 64u + (q >> 4u)) * N + k0 + (q & 15u)];
            right[q] = b[(k0 + (q >> 6u)) * N + g.x * 64u + (q & 63u)];
        }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k += 1u) {
            let r = vec4<f32>(right[k * 64u + t.x], right[k * 64u + t.x + 16u], right[k * 64u + t.x + 32u], right[k * 64u + t.x + 48u]);
            s0 = fma(vec4<f32>(left[k * 65u + t.y]), r, s0);
            s1 = fma(vec4<f32>(left[k * 65u + t.y + 16u]), r, s1);
            s2 = fma(vec4<f32>(left[k * 65u + t.y + 32u]), r, s2);
            s3 = fma(vec4<f32>(left[k * 65u + t.y + 48u]), r, s3);
        }
        workgroupBarrier();
    }
    for (var q = 0u; q < 4u; q += 1u) {
        let col = g.x * 64u + t.x + q * 16u;
        c[(g.y * 64u + t.y) * N + col] = s0[q];
        c[(g.y * 64u + t.y + 16u) * N + col] = s1[q];
        c[(g.y * 64u + t.y + 32u) * N + col] = s2[q];
        c[(g.y * 64u + t.y + 48u) * N + col] = s3[q];
    }
}
