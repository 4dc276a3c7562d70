// Dispatch min(ceil(N / 16384), 65535) workgroups.
struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> tmp1: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> part1: array<f32, 256>;

@compute @workgroup_size(256)
fn total_fold(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let is = local.x == 0u;
    let end = (sizes.N + 16383u) / 16384u;
    let stride = min((sizes.N + 16383u) / 16384u, 65535u);
    for (var i = block.x; i < end; i += stride) {
        let at = i * 16384u;
        let at2 = min(at + 16384u, sizes.N);
        var acc = 0.0;
        for (var j = at + local.x; j < at2; j += 16384u) {
            let at3 = min(j + 16384u, at2);
            var acc2 = 0.0;
            for (var k = j; k < at3; k += 4096u) {
                var acc3 = 0.0;
                let end2 = min(k + 4096u, at3);
                for (var l = k; l < end2; l += 256u) {
                    acc3 += x[l];
                }
                acc2 += acc3;
            }
            acc += acc2;
        }
        workgroupBarrier();
        part1[local.x] = acc;
        var s = 1u;
        while s < 256u {
            workgroupBarrier();
            let at4 = s * 2u;
            let at5 = local.x + s;
            if local.x % at4 == 0u && at5 < 256u {
                part1[local.x] += part1[at5];
            }
            s = at4;
        }
        workgroupBarrier();
        let x2 = part1[0];
        if is {
            tmp1[i] = x2;
        }
    }
}

// Dispatch 1 workgroup.
struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> tmp1: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> part1: array<f32, 256>;

@compute @workgroup_size(256)
fn total_fold_parts(@builtin(local_invocation_id) local: vec3<u32>) {
    let n = (sizes.N + 16383u) / 16384u;
    var acc = 0.0;
    for (var i = 0u; i < n; i += 65536u) {
        let at = min(i + 65536u, n);
        var acc2 = 0.0;
        for (var j = i + local.x; j < at; j += 16384u) {
            let at2 = min(j + 16384u, at);
            var acc3 = 0.0;
            for (var k = j; k < at2; k += 4096u) {
                var acc4 = 0.0;
                let end = min(k + 4096u, at2);
                for (var l = k; l < end; l += 256u) {
                    acc4 += tmp1[l];
                }
                acc3 += acc4;
            }
            acc2 += acc3;
        }
        workgroupBarrier();
        part1[local.x] = acc2;
        var s = 1u;
        while s < 256u {
            workgroupBarrier();
            let at3 = s * 2u;
            let at4 = local.x + s;
            if local.x % at3 == 0u && at4 < 256u {
                part1[local.x] += part1[at4];
            }
            s = at3;
        }
        workgroupBarrier();
        acc += part1[0];
    }
    if local.x == 0u {
        output[0] = acc;
    }
}
