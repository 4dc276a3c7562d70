// The numbers above one half, in order, in three launches: how many each block `counts`, what comes `before` each, and `write`. A
// block of 256 threads goes along TILES × 4096 elements, and puts the numbers of a tile together in shared memory.
override BLOCKS: u32;
override TILES: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> part: array<u32>;
// The same where there are fewer arrays.
@group(0) @binding(1) var<storage, read_write> parts: array<u32>;
@group(0) @binding(0) var<storage, read_write> only: array<u32>;
var<workgroup> tile: array<f32, 4096>;
var<workgroup> run: array<vec2<u32>, 256>;
var<workgroup> group: array<vec2<u32>, 16>;

// What comes before the thread, and what all threads have: sixteens of threads one after the other.
struct Before { own: vec2<u32>, all: vec2<u32> }
fn before_thread(t: u32, own: vec2<u32>) -> Before {
    run[t] = own;
    workgroupBarrier();
    if t < 16u {
        var sum = vec2<u32>(0u);
        for (var k = 0u; k < 16u; k++) {
            let next = run[t * 16u + k];
            run[t * 16u + k] = sum;
            sum += next;
        }
        group[t] = sum;
    }
    workgroupBarrier();
    var before = run[t];
    var all = vec2<u32>(0u);
    for (var k = 0u; k < 16u; k++) {
        if k == t / 16u { before += all; }
        all += group[k];
    }
    workgroupBarrier();
    return Before(before, all);
}

fn kept(v: vec4<f32>) -> vec4<u32> { return select(vec4<u32>(0u), vec4<u32>(1u), v > vec4<f32>(0.5)); }
fn many(v: vec4<u32>) -> u32 { return v.x + v.y + v.z + v.w; }

@compute @workgroup_size(256)
fn counts(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let block = b.y * g.x + b.x;
    if block >= BLOCKS { return; }
    var own = vec4<u32>(0u);
    for (var k = 0u; k < 4u * TILES; k++) { own += kept(x[(block * TILES * 4u + k) * 256u + t]); }
    let all = before_thread(t, vec2<u32>(many(own), 0u)).all;
    if t == 0u { parts[block] = all.x; }
}

@compute @workgroup_size(256)
fn before(@builtin(local_invocation_index) t: u32) {
    let length = (BLOCKS + 255u) / 256u;
    var carry = 0u;
    for (var k = t * length; k < min((t + 1u) * length, BLOCKS); k++) { carry += only[k]; }
    carry = before_thread(t, vec2<u32>(carry, 0u)).own.x;
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
    var first = part[block];
    for (var number = 0u; number < TILES; number++) {
        var v = array<vec4<f32>, 4>();
        var n = vec4<u32>();
        for (var k = 0u; k < 4u; k++) {
            v[k] = x[((block * TILES + number) * 4u + k) * 256u + t];
            n[k] = many(kept(v[k]));
        }
        // The counts of four rows in two words.
        let before = before_thread(t, vec2<u32>(n.x | (n.y << 16u), n.z | (n.w << 16u)));
        let low = vec2<u32>(0xffffu);
        let own = vec4<u32>(before.own & low, before.own >> vec2<u32>(16u)).xzyw;
        let all = vec4<u32>(before.all & low, before.all >> vec2<u32>(16u)).xzyw;
        var row = 0u;
        for (var k = 0u; k < 4u; k++) {
            var to = row + own[k];
            row += all[k];
            for (var j = 0u; j < 4u; j++) {
                if v[k][j] > 0.5 {
                    tile[to] = v[k][j];
                    to++;
                }
            }
        }
        workgroupBarrier();
        for (var k = t; k < row; k += 256u) { out[first + k] = tile[k]; }
        first += row;
        workgroupBarrier();
    }
}
