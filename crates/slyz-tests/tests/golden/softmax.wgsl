// Dispatch min(N, 65535) workgroups.
var<private> infinity_f32_bits: u32 = 0x7f800000u;

fn infinity_f32() -> f32 {
    return bitcast<f32>(infinity_f32_bits);
}

struct Sizes { N: u32, M: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> part1: array<f32, 256>;

@compute @workgroup_size(256)
fn softmax(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let stride = min(sizes.N, 65535u);
    for (var i = block.x; i < sizes.N; i += stride) {
        var acc = -infinity_f32();
        for (var j = local.x; j < sizes.M; j += 256u) {
            acc = max(acc, x[i * sizes.M + j]);
        }
        workgroupBarrier();
        part1[local.x] = acc;
        var s = 1u;
        while s < 256u {
            workgroupBarrier();
            let at = s * 2u;
            let at2 = local.x + s;
            if local.x % at == 0u && at2 < 256u {
                part1[local.x] = max(part1[local.x], part1[at2]);
            }
            s = at;
        }
        workgroupBarrier();
        let x2 = part1[0];
        var acc2 = 0.0;
        for (var j = 0u; j < sizes.M; j += 65536u) {
            let at3 = min(j + 65536u, sizes.M);
            var acc3 = 0.0;
            for (var k = j + local.x; k < at3; k += 16384u) {
                let at4 = min(k + 16384u, at3);
                var acc4 = 0.0;
                for (var l = k; l < at4; l += 4096u) {
                    var acc5 = 0.0;
                    let end = min(l + 4096u, at4);
                    for (var i2 = l; i2 < end; i2 += 256u) {
                        acc5 += exp(x[i * sizes.M + i2] - x2);
                    }
                    acc4 += acc5;
                }
                acc3 += acc4;
            }
            workgroupBarrier();
            part1[local.x] = acc3;
            var s2 = 1u;
            while s2 < 256u {
                workgroupBarrier();
                let at5 = s2 * 2u;
                let at6 = local.x + s2;
                if local.x % at5 == 0u && at6 < 256u {
                    part1[local.x] += part1[at6];
                }
                s2 = at5;
            }
            workgroupBarrier();
            acc2 += part1[0];
        }
        for (var j = local.x; j < sizes.M; j += 256u) {
            output[i * sizes.M + j] = exp(x[i * sizes.M + j] - x2) / acc2;
        }
    }
}
