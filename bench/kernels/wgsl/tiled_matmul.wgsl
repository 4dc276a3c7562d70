// The tiled product of the page on graph functions, as there and with a fused multiply-add; N is a multiple of 16.
override N: u32;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

var<workgroup> ta: array<f32, 256>;
var<workgroup> tb: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn tiles(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>) {
    let row = block.y * 16u + t.y;
    let col = block.x * 16u + t.x;
    var sum = 0.0;
    for (var tile = 0u; tile < N / 16u; tile++) {
        ta[t.y * 16u + t.x] = a[row * N + tile * 16u + t.x];
        tb[t.y * 16u + t.x] = b[(tile * 16u + t.y) * N + col];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum += ta[t.y * 16u + k] * tb[k * 16u + t.x];
        }
        workgroupBarrier();
    }
    if (row < N && col < N) {
        c[row * N + col] = sum;
    }
}

@compute @workgroup_size(16, 16)
fn fused(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>) {
    let row = block.y * 16u + t.y;
    let col = block.x * 16u + t.x;
    var sum = 0.0;
    for (var tile = 0u; tile < N / 16u; tile++) {
        ta[t.y * 16u + t.x] = a[row * N + tile * 16u + t.x];
        tb[t.y * 16u + t.x] = b[(tile * 16u + t.y) * N + col];
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum = fma(ta[t.y * 16u + k], tb[k * 16u + t.x], sum);
        }
        workgroupBarrier();
    }
    if (row < N && col < N) {
        c[row * N + col] = sum;
    }
}
