// The numbers above one half, in order, in three launches, 256 threads × 16 elements a block: how many each block `counts`, what
// comes `before` each, and `write`, which puts a block's numbers together in shared memory. There are BLOCKS × 4096 elements.
override BLOCKS: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> part: array<u32>;
// The same where there are fewer arrays.
@group(0) @binding(1) var<storage, read_write> parts: array<u32>;
@group(0) @binding(0) var<storage, read_write> only: array<u32>;
var<workgroup> tile: array<f32, 4096>;
var<workgroup> run: array<u32, 256>;

// What comes before the thread; `run[255]` is all of it afterwards.
fn before_thread(t: u32, own: u32) -> u32 {
    var all = own;
    run[t] = all;
    workgroupBarrier();
    for (var d = 1u; d < 256u; d <<= 1u) {
        if t >= d { all += run[t - d]; }
        workgroupBarrier();
        run[t] = all;
        workgroupBarrier();
    }
    return all - own;
}

fn kept(v: vec4<f32>) -> vec4<u32> { return select(vec4<u32>(0u), vec4<u32>(1u), v > vec4<f32>(0.5)); }

@compute @workgroup_size(256)
fn counts(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    var own = vec4<u32>(0u);
    for (var k = 0u; k < 4u; k++) { own += kept(x[block * 1024u + k * 256u + t]); }
    run[t] = own.x + own.y + own.z + own.w;
    workgroupBarrier();
    for (var d = 128u; d > 0u; d >>= 1u) {
        if t < d { run[t] += run[t + d]; }
        workgroupBarrier();
    }
    if t == 0u { parts[block] = run[0]; }
}

@compute @workgroup_size(256)
fn before(@builtin(local_invocation_index) t: u32) {
    let length = (BLOCKS + 255u) / 256u;
    var carry = 0u;
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) { carry += only[k]; }
    carry = before_thread(t, carry);
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) {
        let own = only[k];
        only[k] = carry;
        carry += own;
    }
}

@compute @workgroup_size(256)
fn write(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    var place = 0u;
    for (var k = 0u; k < 4u; k++) {
        let v = x[block * 1024u + k * 256u + t];
        let n = kept(v);
        var to = place + before_thread(t, n.x + n.y + n.z + n.w);
        place += run[255];
        workgroupBarrier();
        for (var j = 0u; j < 4u; j++) {
            if n[j] == 1u {
                tile[to] = v[j];
                to++;
            }
        }
    }
    workgroupBarrier();
    let first = part[block];
    for (var k = t; k < place; k += 256u) { out[first + k] = tile[k]; }
}
