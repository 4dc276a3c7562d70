// Inclusive prefix sums in three launches: `sums` of blocks, what comes `before` each, and `scan`. A block of 256 threads goes
// along TILES × 4096 elements. Reads and writes are coalesced; runs of 16 are made in shared memory.
override BLOCKS: u32;
override TILES: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> part: array<f32>;
// The same where there are fewer arrays.
@group(0) @binding(1) var<storage, read_write> parts: array<f32>;
@group(0) @binding(0) var<storage, read_write> only: array<f32>;
var<workgroup> tile: array<f32, 4352>;
var<workgroup> run: array<f32, 256>;
var<workgroup> group: array<f32, 16>;

// A word of padding behind every 16.
fn at(i: u32) -> u32 { return i + (i >> 4u); }

// What comes before the thread, and what all threads have: sixteens of threads one after the other.
struct Before { own: f32, all: f32 }
fn before_thread(t: u32, own: f32) -> Before {
    run[t] = own;
    workgroupBarrier();
    if t < 16u {
        var sum = 0.0;
        for (var k = 0u; k < 16u; k++) {
            let next = run[t * 16u + k];
            run[t * 16u + k] = sum;
            sum += next;
        }
        group[t] = sum;
    }
    workgroupBarrier();
    var before = run[t];
    var all = 0.0;
    for (var k = 0u; k < 16u; k++) {
        if k == t / 16u { before += all; }
        all += group[k];
    }
    workgroupBarrier();
    return Before(before, all);
}

@compute @workgroup_size(256)
fn sums(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    var own = vec4<f32>(0.0);
    for (var k = 0u; k < 4u * TILES; k++) { own += x[(block * TILES * 4u + k) * 256u + t]; }
    let all = before_thread(t, own.x + own.y + own.z + own.w).all;
    if t == 0u { parts[block] = all; }
}

@compute @workgroup_size(256)
fn before(@builtin(local_invocation_index) t: u32) {
    let length = (BLOCKS + 255u) / 256u;
    var carry = 0.0;
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) { carry += only[k]; }
    carry = before_thread(t, carry).own;
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
    var carry = part[block];
    for (var number = 0u; number < TILES; number++) {
        let first = (block * TILES + number) * 1024u + t;
        for (var k = 0u; k < 4u; k++) {
            let v = x[first + k * 256u];
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
        let before = before_thread(t, all);
        for (var k = 0u; k < 16u; k++) { tile[at(t * 16u + k)] = own[k] + carry + before.own; }
        carry += before.all;
        workgroupBarrier();
        for (var k = 0u; k < 4u; k++) {
            let i = (k * 256u + t) * 4u;
            out[first + k * 256u] = vec4<f32>(tile[at(i)], tile[at(i + 1u)], tile[at(i + 2u)], tile[at(i + 3u)]);
        }
        workgroupBarrier();
    }
}
