// Dispatch min(ceil(N / 16384), 65535) workgroups.
struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> tmp1: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> parts: array<f32, 256>;

@compute @workgroup_size(256)
fn total_fold(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let end = (sizes.N + 16383u) / 16384u;
    let stride = min((sizes.N + 16383u) / 16384u, 65535u);
    for (var i = block.x; i < end; i += stride) {
        var sum = 0.0;
        let end2 = min(i * 16384u + 16384u, sizes.N);
        for (var j = i * 16384u + local.x; j < end2; j += 256u) {
            sum += x[j];
        }
        workgroupBarrier();
        parts[local.x] = sum;
        for (var apart = 1u; apart < 256u; apart *= 2u) {
            workgroupBarrier();
            let at = local.x + apart;
            if local.x % (apart * 2u) == 0u && at < 256u {
                parts[local.x] += parts[at];
            }
        }
        workgroupBarrier();
        let part = parts[0];
        if local.x == 0u {
            tmp1[i] = part;
        }
    }
}

// Dispatch 1 workgroup.
struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> tmp1: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> parts: array<f32, 256>;

@compute @workgroup_size(256)
fn total_fold_parts(@builtin(local_invocation_id) local: vec3<u32>) {
    var sum = 0.0;
    let end = (sizes.N + 16383u) / 16384u;
    for (var i = local.x; i < end; i += 256u) {
        sum += tmp1[i];
    }
    parts[local.x] = sum;
    for (var apart = 1u; apart < 256u; apart *= 2u) {
        workgroupBarrier();
        let at = local.x + apart;
        if local.x % (apart * 2u) == 0u && at < 256u {
            parts[local.x] += parts[at];
        }
    }
    workgroupBarrier();
    let part = parts[0];
    if local.x == 0u {
        output[0] = part;
    }
}
