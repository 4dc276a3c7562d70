// Inclusive prefix sums in three launches, 256 threads × 16 elements a block: `sums` of blocks, what comes `before` each, and
// `scan`. Reads and writes are coalesced; runs of 16 are made in shared memory. There are BLOCKS × 4096 elements.
override BLOCKS: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> part: array<f32>;
// The same where there are fewer arrays.
@group(0) @binding(1) var<storage, read_write> parts: array<f32>;
@group(0) @binding(0) var<storage, read_write> only: array<f32>;
var<workgroup> tile: array<f32, 4352>;
var<workgroup> run: array<f32, 256>;

// A word of padding behind every 16.
fn at(i: u32) -> u32 { return i + (i >> 4u); }

// What comes before the thread; `run[255]` is all of it afterwards.
fn before_thread(t: u32, own: f32) -> f32 {
    var all = own;
    run[t] = all;
    workgroupBarrier();
    for (var d = 1u; d < 256u; d <<= 1u) {
        if t >= d { all += run[t - d]; }
        workgroupBarrier();
        run[t] = all;
        workgroupBarrier();
    }
    return select(0.0, run[max(t, 1u) - 1u], t > 0u);
}

@compute @workgroup_size(256)
fn sums(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    var own = vec4<f32>(0.0);
    for (var k = 0u; k < 4u; k++) { own += x[block * 1024u + k * 256u + t]; }
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
    var carry = 0.0;
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) { carry += only[k]; }
    carry = before_thread(t, carry);
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) {
        let own = only[k];
        only[k] = carry;
        carry += own;
    }
}

@compute @workgroup_size(256)
fn scan(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    for (var k = 0u; k < 4u; k++) {
        let v = x[block * 1024u + k * 256u + t];
        let i = (k * 256u + t) * 4u;
        tile[at(i)] = v.x;
        tile[at(i + 1u)] = v.y;
        tile[at(i + 2u)] = v.z;
        tile[at(i + 3u)] = v.w;
    }
    workgroupBarrier();
    var own = array<f32, 16>();
    var all = 0.0;
    for (var k = 0u; k < 16u; k++) {
        all += tile[at(t * 16u + k)];
        own[k] = all;
    }
    let carry = part[block] + before_thread(t, all);
    for (var k = 0u; k < 16u; k++) { tile[at(t * 16u + k)] = own[k] + carry; }
    workgroupBarrier();
    for (var k = 0u; k < 4u; k++) {
        let i = (k * 256u + t) * 4u;
        out[block * 1024u + k * 256u + t] = vec4<f32>(tile[at(i)], tile[at(i + 1u)], tile[at(i + 2u)], tile[at(i + 3u)]);
    }
}
