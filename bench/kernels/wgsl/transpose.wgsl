// out[j, i] = x[i, j] through a tile whose rows start in different banks. x is ROWS x COLUMNS.
override ROWS: u32;
override COLUMNS: u32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> tile: array<f32, 1056>;

@compute @workgroup_size(32, 8)
fn tiles(@builtin(workgroup_id) b: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>) {
    for (var k = t.y; k < 32u; k += 8u) {
        let i = b.y * 32u + k;
        let j = b.x * 32u + t.x;
        if i < ROWS && j < COLUMNS { tile[k * 33u + t.x] = x[i * COLUMNS + j]; }
    }
    workgroupBarrier();
    for (var k = t.y; k < 32u; k += 8u) {
        let j = b.x * 32u + k;
        let i = b.y * 32u + t.x;
        if i < ROWS && j < COLUMNS { out[j * ROWS + i] = tile[t.x * 33u + k]; }
    }
}
