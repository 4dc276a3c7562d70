// Dispatch min(ceil(M / 64), 65535) × min(ceil(N / 64), 65535) workgroups.
struct Sizes { N: u32, K: u32, M: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;
var<workgroup> left3: array<array<f32, 68>, 16>;
var<workgroup> right4: array<array<f32, 68>, 16>;

@compute @workgroup_size(256)
fn matmul(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let end = (sizes.N + 63u) / 64u;
    let stride = min((sizes.N + 63u) / 64u, 65535u);
    for (var i = block.y; i < end; i += stride) {
        let end2 = (sizes.M + 63u) / 64u;
        let stride2 = min((sizes.M + 63u) / 64u, 65535u);
        for (var j = block.x; j < end2; j += stride2) {
            let at = j * 64u;
            let at2 = i * 64u;
            let at3 = local.x / 16u;
            let at4 = at3 * 4u;
            let at5 = local.x % 16u;
            let at6 = at5 * 4u;
            var acc = 0.0;
            var acc2 = 0.0;
            var acc3 = 0.0;
            var acc4 = 0.0;
            var acc5 = 0.0;
            var acc6 = 0.0;
            var acc7 = 0.0;
            var acc8 = 0.0;
            var acc9 = 0.0;
            var acc10 = 0.0;
            var acc11 = 0.0;
            var acc12 = 0.0;
            var acc13 = 0.0;
            var acc14 = 0.0;
            var acc15 = 0.0;
            var acc16 = 0.0;
            for (var k = 0u; k < sizes.K; k += 256u) {
                let at7 = min(k + 256u, sizes.K);
                var acc17 = 0.0;
                var acc18 = 0.0;
                var acc19 = 0.0;
                var acc20 = 0.0;
                var acc21 = 0.0;
                var acc22 = 0.0;
                var acc23 = 0.0;
                var acc24 = 0.0;
                var acc25 = 0.0;
                var acc26 = 0.0;
                var acc27 = 0.0;
                var acc28 = 0.0;
                var acc29 = 0.0;
                var acc30 = 0.0;
                var acc31 = 0.0;
                var acc32 = 0.0;
                for (var l = k; l < at7; l += 16u) {
                    let at8 = max(sizes.N, 1u) - 1u;
                    let at9 = max(sizes.K, 1u) - 1u;
                    let at10 = min(l + at5, at9);
                    let at11 = at3 + 16u;
                    let at12 = at3 + 32u;
                    let at13 = at3 + 48u;
                    let at14 = local.x % 64u;
                    let at15 = local.x / 64u;
                    let at16 = min(at + at14, max(sizes.M, 1u) - 1u);
                    let at17 = at15 + 4u;
                    let at18 = at15 + 8u;
                    let at19 = at15 + 12u;
                    left3[at5][at3] = a[min(at2 + at3, at8) * sizes.K + at10];
                    left3[at5][at11] = a[min(at2 + at11, at8) * sizes.K + at10];
                    left3[at5][at12] = a[min(at2 + at12, at8) * sizes.K + at10];
                    left3[at5][at13] = a[min(at2 + at13, at8) * sizes.K + at10];
                    right4[at15][at14] = b[min(l + at15, at9) * sizes.M + at16];
                    right4[at17][at14] = b[min(l + at17, at9) * sizes.M + at16];
                    right4[at18][at14] = b[min(l + at18, at9) * sizes.M + at16];
                    right4[at19][at14] = b[min(l + at19, at9) * sizes.M + at16];
                    workgroupBarrier();
                    let at20 = i32(at7) - i32(l);
                    if at20 >= 16 {
                        for (var i2 = 0u; i2 < 16u; i2 += 4u) {
                            let x = left3[i2][at4];
                            let at21 = at4 + 1u;
                            let x2 = left3[i2][at21];
                            let at22 = at4 + 2u;
                            let x3 = left3[i2][at22];
                            let at23 = at4 + 3u;
                            let x4 = left3[i2][at23];
                            let x5 = right4[i2][at6];
                            let at24 = at6 + 1u;
                            let x6 = right4[i2][at24];
                            let at25 = at6 + 2u;
                            let x7 = right4[i2][at25];
                            let at26 = at6 + 3u;
                            let x8 = right4[i2][at26];
                            let at27 = i2 + 1u;
                            let x9 = left3[at27][at4];
                            let x10 = left3[at27][at21];
                            let x11 = left3[at27][at22];
                            let x12 = left3[at27][at23];
                            let x13 = right4[at27][at6];
                            let x14 = right4[at27][at24];
                            let x15 = right4[at27][at25];
                            let x16 = right4[at27][at26];
                            let at28 = i2 + 2u;
                            let x17 = left3[at28][at4];
                            let x18 = left3[at28][at21];
                            let x19 = left3[at28][at22];
                            let x20 = left3[at28][at23];
                            let x21 = right4[at28][at6];
                            let x22 = right4[at28][at24];
                            let x23 = right4[at28][at25];
                            let x24 = right4[at28][at26];
                            let at29 = i2 + 3u;
                            let x25 = left3[at29][at4];
                            let x26 = left3[at29][at21];
                            let x27 = left3[at29][at22];
                            let x28 = left3[at29][at23];
                            let x29 = right4[at29][at6];
                            let x30 = right4[at29][at24];
                            let x31 = right4[at29][at25];
                            let x32 = right4[at29][at26];
                            acc17 = acc17 + x * x5 + x9 * x13 + x17 * x21 + x25 * x29;
                            acc18 = acc18 + x * x6 + x9 * x14 + x17 * x22 + x25 * x30;
                            acc19 = acc19 + x * x7 + x9 * x15 + x17 * x23 + x25 * x31;
                            acc20 = acc20 + x * x8 + x9 * x16 + x17 * x24 + x25 * x32;
                            acc21 = acc21 + x2 * x5 + x10 * x13 + x18 * x21 + x26 * x29;
                            acc22 = acc22 + x2 * x6 + x10 * x14 + x18 * x22 + x26 * x30;
                            acc23 = acc23 + x2 * x7 + x10 * x15 + x18 * x23 + x26 * x31;
                            acc24 = acc24 + x2 * x8 + x10 * x16 + x18 * x24 + x26 * x32;
                            acc25 = acc25 + x3 * x5 + x11 * x13 + x19 * x21 + x27 * x29;
                            acc26 = acc26 + x3 * x6 + x11 * x14 + x19 * x22 + x27 * x30;
                            acc27 = acc27 + x3 * x7 + x11 * x15 + x19 * x23 + x27 * x31;
                            acc28 = acc28 + x3 * x8 + x11 * x16 + x19 * x24 + x27 * x32;
                            acc29 = acc29 + x4 * x5 + x12 * x13 + x20 * x21 + x28 * x29;
                            acc30 = acc30 + x4 * x6 + x12 * x14 + x20 * x22 + x28 * x30;
                            acc31 = acc31 + x4 * x7 + x12 * x15 + x20 * x23 + x28 * x31;
                            acc32 = acc32 + x4 * x8 + x12 * x16 + x20 * x24 + x28 * x32;
                        }
                    } else {
                        for (var i2 = 0; i2 < at20; i2++) {
                            let x33 = left3[u32(i2)][at4];
                            let x34 = left3[u32(i2)][at4 + 1u];
                            let x35 = left3[u32(i2)][at4 + 2u];
                            let x36 = left3[u32(i2)][at4 + 3u];
                            let x37 = right4[u32(i2)][at6];
                            let x38 = right4[u32(i2)][at6 + 1u];
                            let x39 = right4[u32(i2)][at6 + 2u];
                            let x40 = right4[u32(i2)][at6 + 3u];
                            acc17 += x33 * x37;
                            acc18 += x33 * x38;
                            acc19 += x33 * x39;
                            acc20 += x33 * x40;
                            acc21 += x34 * x37;
                            acc22 += x34 * x38;
                            acc23 += x34 * x39;
                            acc24 += x34 * x40;
                            acc25 += x35 * x37;
                            acc26 += x35 * x38;
                            acc27 += x35 * x39;
                            acc28 += x35 * x40;
                            acc29 += x36 * x37;
                            acc30 += x36 * x38;
                            acc31 += x36 * x39;
                            acc32 += x36 * x40;
                        }
                    }
                    workgroupBarrier();
                }
                acc += acc17;
                acc2 += acc18;
                acc3 += acc19;
                acc4 += acc20;
                acc5 += acc21;
                acc6 += acc22;
                acc7 += acc23;
                acc8 += acc24;
                acc9 += acc25;
                acc10 += acc26;
                acc11 += acc27;
                acc12 += acc28;
                acc13 += acc29;
                acc14 += acc30;
                acc15 += acc31;
                acc16 += acc32;
            }
            let at30 = at2 + at4;
            let at31 = at + at6;
            let at32 = at + (at6 + 1u);
            let at33 = at + (at6 + 2u);
            let at34 = at + (at6 + 3u);
            let at35 = at2 + (at4 + 1u);
            let at36 = at2 + (at4 + 2u);
            let at37 = at2 + (at4 + 3u);
            let is = at30 < sizes.N;
            let is2 = at31 < sizes.M;
            if is && is2 {
                output[at30 * sizes.M + at31] = acc;
            }
            let is3 = at32 < sizes.M;
            if is && is3 {
                output[at30 * sizes.M + at32] = acc2;
            }
            let is4 = at33 < sizes.M;
            if is && is4 {
                output[at30 * sizes.M + at33] = acc3;
            }
            let is5 = at34 < sizes.M;
            if is && is5 {
                output[at30 * sizes.M + at34] = acc4;
            }
            let is6 = at35 < sizes.N;
            if is6 && is2 {
                output[at35 * sizes.M + at31] = acc5;
            }
            if is6 && is3 {
                output[at35 * sizes.M + at32] = acc6;
            }
            if is6 && is4 {
                output[at35 * sizes.M + at33] = acc7;
            }
            if is6 && is5 {
                output[at35 * sizes.M + at34] = acc8;
            }
            let is7 = at36 < sizes.N;
            if is7 && is2 {
                output[at36 * sizes.M + at31] = acc9;
            }
            if is7 && is3 {
                output[at36 * sizes.M + at32] = acc10;
            }
            if is7 && is4 {
                output[at36 * sizes.M + at33] = acc11;
            }
            if is7 && is5 {
                output[at36 * sizes.M + at34] = acc12;
            }
            let is8 = at37 < sizes.N;
            if is8 && is2 {
                output[at37 * sizes.M + at31] = acc13;
            }
            if is8 && is3 {
                output[at37 * sizes.M + at32] = acc14;
            }
            if is8 && is4 {
                output[at37 * sizes.M + at33] = acc15;
            }
            if is8 && is5 {
                output[at37 * sizes.M + at34] = acc16;
            }
            workgroupBarrier();
        }
    }
}
