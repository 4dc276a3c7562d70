// Dispatch min(ceil(M / 64), 65535) × min(ceil(N / 64), 65535) workgroups.
struct Sizes { N: u32, K: u32, M: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;
var<workgroup> left: array<array<f32, 68>, 16>;
var<workgroup> right: array<array<f32, 68>, 16>;

@compute @workgroup_size(256)
fn matmul(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) block: vec3<u32>) {
    let end = (sizes.N + 63u) / 64u;
    let stride = min((sizes.N + 63u) / 64u, 65535u);
    for (var i = block.y; i < end; i += stride) {
        let end2 = (sizes.M + 63u) / 64u;
        let stride2 = min((sizes.M + 63u) / 64u, 65535u);
        for (var j = block.x; j < end2; j += stride2) {
            let start = j * 64u;
            let start2 = i * 64u;
            let row = local.x / 16u;
            let start3 = row * 4u;
            let column = local.x % 16u;
            let start4 = column * 4u;
            var sum = 0.0;
            var sum2 = 0.0;
            var sum3 = 0.0;
            var sum4 = 0.0;
            var sum5 = 0.0;
            var sum6 = 0.0;
            var sum7 = 0.0;
            var sum8 = 0.0;
            var sum9 = 0.0;
            var sum10 = 0.0;
            var sum11 = 0.0;
            var sum12 = 0.0;
            var sum13 = 0.0;
            var sum14 = 0.0;
            var sum15 = 0.0;
            var sum16 = 0.0;
            for (var k = 0u; k < sizes.K; k += 16u) {
                let last = max(sizes.N, 1u) - 1u;
                let last2 = max(sizes.K, 1u) - 1u;
                let column2 = min(k + column, last2);
                let column3 = local.x % 64u;
                let row2 = local.x / 64u;
                let column4 = min(start + column3, max(sizes.M, 1u) - 1u);
                left[column][row] = a[min(start2 + row, last) * sizes.K + column2];
                left[column][row + 16u] = a[min(start2 + (row + 16u), last) * sizes.K + column2];
                left[column][row + 32u] = a[min(start2 + (row + 32u), last) * sizes.K + column2];
                left[column][row + 48u] = a[min(start2 + (row + 48u), last) * sizes.K + column2];
                right[row2][column3] = b[min(k + row2, last2) * sizes.M + column4];
                right[row2 + 4u][column3] = b[min(k + (row2 + 4u), last2) * sizes.M + column4];
                right[row2 + 8u][column3] = b[min(k + (row2 + 8u), last2) * sizes.M + column4];
                right[row2 + 12u][column3] = b[min(k + (row2 + 12u), last2) * sizes.M + column4];
                workgroupBarrier();
                let end3 = i32(sizes.K) - i32(k);
                if end3 >= 16 {
                    for (var l = 0u; l < 16u; l += 4u) {
                        let left2 = left[l][start3];
                        let left3 = left[l][start3 + 1u];
                        let left4 = left[l][start3 + 2u];
                        let left5 = left[l][start3 + 3u];
                        let right2 = right[l][start4];
                        let right3 = right[l][start4 + 1u];
                        let right4 = right[l][start4 + 2u];
                        let right5 = right[l][start4 + 3u];
                        let at = l + 1u;
                        let left6 = left[at][start3];
                        let left7 = left[at][start3 + 1u];
                        let left8 = left[at][start3 + 2u];
                        let left9 = left[at][start3 + 3u];
                        let right6 = right[at][start4];
                        let right7 = right[at][start4 + 1u];
                        let right8 = right[at][start4 + 2u];
                        let right9 = right[at][start4 + 3u];
                        let at2 = l + 2u;
                        let left10 = left[at2][start3];
                        let left11 = left[at2][start3 + 1u];
                        let left12 = left[at2][start3 + 2u];
                        let left13 = left[at2][start3 + 3u];
                        let right10 = right[at2][start4];
                        let right11 = right[at2][start4 + 1u];
                        let right12 = right[at2][start4 + 2u];
                        let right13 = right[at2][start4 + 3u];
                        let at3 = l + 3u;
                        let left14 = left[at3][start3];
                        let left15 = left[at3][start3 + 1u];
                        let left16 = left[at3][start3 + 2u];
                        let left17 = left[at3][start3 + 3u];
                        let right14 = right[at3][start4];
                        let right15 = right[at3][start4 + 1u];
                        let right16 = right[at3][start4 + 2u];
                        let right17 = right[at3][start4 + 3u];
                        sum = sum + left2 * right2 + left6 * right6 + left10 * right10 + left14 * right14;
                        sum2 = sum2 + left2 * right3 + left6 * right7 + left10 * right11 + left14 * right15;
                        sum3 = sum3 + left2 * right4 + left6 * right8 + left10 * right12 + left14 * right16;
                        sum4 = sum4 + left2 * right5 + left6 * right9 + left10 * right13 + left14 * right17;
                        sum5 = sum5 + left3 * right2 + left7 * right6 + left11 * right10 + left15 * right14;
                        sum6 = sum6 + left3 * right3 + left7 * right7 + left11 * right11 + left15 * right15;
                        sum7 = sum7 + left3 * right4 + left7 * right8 + left11 * right12 + left15 * right16;
                        sum8 = sum8 + left3 * right5 + left7 * right9 + left11 * right13 + left15 * right17;
                        sum9 = sum9 + left4 * right2 + left8 * right6 + left12 * right10 + left16 * right14;
                        sum10 = sum10 + left4 * right3 + left8 * right7 + left12 * right11 + left16 * right15;
                        sum11 = sum11 + left4 * right4 + left8 * right8 + left12 * right12 + left16 * right16;
                        sum12 = sum12 + left4 * right5 + left8 * right9 + left12 * right13 + left16 * right17;
                        sum13 = sum13 + left5 * right2 + left9 * right6 + left13 * right10 + left17 * right14;
                        sum14 = sum14 + left5 * right3 + left9 * right7 + left13 * right11 + left17 * right15;
                        sum15 = sum15 + left5 * right4 + left9 * right8 + left13 * right12 + left17 * right16;
                        sum16 = sum16 + left5 * right5 + left9 * right9 + left13 * right13 + left17 * right17;
                    }
                } else {
                    for (var l = 0; l < end3; l++) {
                        let left18 = left[u32(l)][start3];
                        let left19 = left[u32(l)][start3 + 1u];
                        let left20 = left[u32(l)][start3 + 2u];
                        let left21 = left[u32(l)][start3 + 3u];
                        let right18 = right[u32(l)][start4];
                        let right19 = right[u32(l)][start4 + 1u];
                        let right20 = right[u32(l)][start4 + 2u];
                        let right21 = right[u32(l)][start4 + 3u];
                        sum += left18 * right18;
                        sum2 += left18 * right19;
                        sum3 += left18 * right20;
                        sum4 += left18 * right21;
                        sum5 += left19 * right18;
                        sum6 += left19 * right19;
                        sum7 += left19 * right20;
                        sum8 += left19 * right21;
                        sum9 += left20 * right18;
                        sum10 += left20 * right19;
                        sum11 += left20 * right20;
                        sum12 += left20 * right21;
                        sum13 += left21 * right18;
                        sum14 += left21 * right19;
                        sum15 += left21 * right20;
                        sum16 += left21 * right21;
                    }
                }
                workgroupBarrier();
            }
            let row3 = start2 + start3;
            let column5 = start + start4;
            let column6 = start + (start4 + 1u);
            let column7 = start + (start4 + 2u);
            let column8 = start + (start4 + 3u);
            let row4 = start2 + (start3 + 1u);
            let row5 = start2 + (start3 + 2u);
            let row6 = start2 + (start3 + 3u);
            if row3 < sizes.N && column5 < sizes.M {
                output[row3 * sizes.M + column5] = sum;
            }
            if row3 < sizes.N && column6 < sizes.M {
                output[row3 * sizes.M + column6] = sum2;
            }
            if row3 < sizes.N && column7 < sizes.M {
                output[row3 * sizes.M + column7] = sum3;
            }
            if row3 < sizes.N && column8 < sizes.M {
                output[row3 * sizes.M + column8] = sum4;
            }
            if row4 < sizes.N && column5 < sizes.M {
                output[row4 * sizes.M + column5] = sum5;
            }
            if row4 < sizes.N && column6 < sizes.M {
                output[row4 * sizes.M + column6] = sum6;
            }
            if row4 < sizes.N && column7 < sizes.M {
                output[row4 * sizes.M + column7] = sum7;
            }
            if row4 < sizes.N && column8 < sizes.M {
                output[row4 * sizes.M + column8] = sum8;
            }
            if row5 < sizes.N && column5 < sizes.M {
                output[row5 * sizes.M + column5] = sum9;
            }
            if row5 < sizes.N && column6 < sizes.M {
                output[row5 * sizes.M + column6] = sum10;
            }
            if row5 < sizes.N && column7 < sizes.M {
                output[row5 * sizes.M + column7] = sum11;
            }
            if row5 < sizes.N && column8 < sizes.M {
                output[row5 * sizes.M + column8] = sum12;
            }
            if row6 < sizes.N && column5 < sizes.M {
                output[row6 * sizes.M + column5] = sum13;
            }
            if row6 < sizes.N && column6 < sizes.M {
                output[row6 * sizes.M + column6] = sum14;
            }
            if row6 < sizes.N && column7 < sizes.M {
                output[row6 * sizes.M + column7] = sum15;
            }
            if row6 < sizes.N && column8 < sizes.M {
                output[row6 * sizes.M + column8] = sum16;
            }
            workgroupBarrier();
        }
    }
}
