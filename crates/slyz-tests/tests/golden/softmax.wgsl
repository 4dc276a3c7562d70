// Dispatch min(N, 65535) workgroups.
var<private> infinity_f32_bits: u32 = 0x7f800000u;

fn infinity_f32() -> f32 {
    return bitcast<f32>(infinity_f32_bits);
}

struct Sizes { N: u32, M: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> parts: array<f32, 256>;

@compute @workgroup_size(256)
fn softmax(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let stride = min(sizes.N, 65535u);
    for (var i = block.x; i < sizes.N; i += stride) {
        var largest = -infinity_f32();
        for (var j = local.x; j < sizes.M; j += 256u) {
            largest = max(largest, x[i * sizes.M + j]);
        }
        workgroupBarrier();
        parts[local.x] = largest;
        for (var apart = 1u; apart < 256u; apart *= 2u) {
            workgroupBarrier();
            let at = local.x + apart;
            if local.x % (apart * 2u) == 0u && at < 256u {
                parts[local.x] = max(parts[local.x], parts[at]);
            }
        }
        workgroupBarrier();
        let part = parts[0];
        var sum = 0.0;
        for (var j = local.x; j < sizes.M; j += 256u) {
            sum += exp(x[i * sizes.M + j] - part);
        }
        workgroupBarrier();
        parts[local.x] = sum;
        for (var apart = 1u; apart < 256u; apart *= 2u) {
            workgroupBarrier();
            let at2 = local.x + apart;
            if local.x % (apart * 2u) == 0u && at2 < 256u {
                parts[local.x] += parts[at2];
            }
        }
        workgroupBarrier();
        let part2 = parts[0];
        for (var j = local.x; j < sizes.M; j += 256u) {
            output[i * sizes.M + j] = exp(x[i * sizes.M + j] - part) / part2;
        }
    }
}
