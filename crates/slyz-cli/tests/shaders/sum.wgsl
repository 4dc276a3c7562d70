// sum_fold.wgsl
// sum_fold: dispatch ceil(N / 65536), 1, 1 workgroups.
// binding 0: input, f32[N], read
// binding 1: tmp2, f32[ceil(N / 65536)], written
// binding 2: uniform, 32 bytes: N, ceil(N / 65536), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> input: array<vec4<f32>>;
@group(0) @binding(1) 
var<storage, read_write> tmp2_: array<f32>;
var<workgroup> part2_: array<f32, 256>;
@group(0) @binding(2) 
var<uniform> slyz_call: array<vec4<u32>, 2>;

@compute @workgroup_size(256, 1, 1) 
fn main(@builtin(local_invocation_id) param: vec3<u32>, @builtin(workgroup_id) param_1: vec3<u32>) {
    var local: f32;
    var local_1: f32;
    var local_2: u32;
    var local_3: f32;
    var local_4: f32;
    var local_5: u32;
    var local_6: f32;
    var local_7: u32;

    let _e7 = (param_1.x * 65536u);
    let _e9 = (_e7 + 65536u);
    let _e13 = slyz_call[0].x;
    let _e16 = select(_e13, _e9, (_e9 < _e13));
    let _e20 = (param.x / 256u);
    let _e22 = (param.x % 256u);
    if (_e20 < 1u) {
        local_1 = 0f;
        local_2 = _e7;
        loop {
            let _e29 = local_2;
            if (_e29 >= _e16) {
                break;
            }
            let _e31 = local_1;
            if ((_e29 + 4096u) <= _e16) {
                let _e41 = (_e29 + (_e22 * 4u));
                let _e47 = input[(_e41 >> 2u)];
                let _e58 = input[((_e41 + 1024u) >> 2u)];
                let _e70 = input[((_e41 + 2048u) >> 2u)];
                let _e82 = input[((_e41 + 3072u) >> 2u)];
                let _e92 = slyz_call[1].x;
                let _e100 = slyz_call[1].x;
                let _e108 = slyz_call[1].x;
                let _e116 = slyz_call[1].x;
                let _e124 = slyz_call[1].x;
                let _e132 = slyz_call[1].x;
                let _e140 = slyz_call[1].x;
                let _e148 = slyz_call[1].x;
                let _e156 = slyz_call[1].x;
                let _e164 = slyz_call[1].x;
                let _e172 = slyz_call[1].x;
                let _e180 = slyz_call[1].x;
                let _e188 = slyz_call[1].x;
                let _e196 = slyz_call[1].x;
                let _e204 = slyz_call[1].x;
                let _e212 = slyz_call[1].x;
                local_3 = bitcast<f32>((bitcast<u32>((_e31 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e47.x + _e47.y)) ^ _e92)) + bitcast<f32>((bitcast<u32>((_e47.z + _e47.w)) ^ _e100)))) ^ _e156)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e58.x + _e58.y)) ^ _e108)) + bitcast<f32>((bitcast<u32>((_e58.z + _e58.w)) ^ _e116)))) ^ _e164)))) ^ _e188)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e70.x + _e70.y)) ^ _e124)) + bitcast<f32>((bitcast<u32>((_e70.z + _e70.w)) ^ _e132)))) ^ _e172)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e82.x + _e82.y)) ^ _e140)) + bitcast<f32>((bitcast<u32>((_e82.z + _e82.w)) ^ _e148)))) ^ _e180)))) ^ _e196)))) ^ _e204)))) ^ _e212));
            } else {
                local_4 = _e31;
                local_5 = (_e29 + _e22);
                loop {
                    let _e219 = local_5;
                    if (_e219 >= _e16) {
                        break;
                    }
                    let _e221 = local_4;
                    let _e229 = input[(_e219 >> 2u)][(_e219 & 3u)];
                    let _e235 = slyz_call[1].x;
                    local_4 = bitcast<f32>((bitcast<u32>((_e221 + _e229)) ^ _e235));
                    if (u32((_e16 - _e219)) <= u32(256u)) {
                        break;
                    }
                    local_5 = (_e219 + 256u);
                }
                let _e243 = local_4;
                local_3 = _e243;
            }
            let _e244 = local_3;
            local_1 = _e244;
            if (u32((_e16 - _e29)) <= u32(4096u)) {
                break;
            }
            local_2 = (_e29 + 4096u);
        }
        let _e250 = local_1;
        local = _e250;
    } else {
        local = 0f;
    }
    let _e251 = local;
    part2_[(_e22 + _e20)] = _e251;
    storageBarrier();
    workgroupBarrier();
    if (param.x < 128u) {
        let _e263 = part2_[param.x];
        let _e266 = part2_[(param.x + 128u)];
        let _e272 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e263 + _e266)) ^ _e272));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 64u) {
        let _e284 = part2_[param.x];
        let _e287 = part2_[(param.x + 64u)];
        let _e293 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e284 + _e287)) ^ _e293));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 32u) {
        let _e305 = part2_[param.x];
        let _e308 = part2_[(param.x + 32u)];
        let _e314 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e305 + _e308)) ^ _e314));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 16u) {
        let _e326 = part2_[param.x];
        let _e329 = part2_[(param.x + 16u)];
        let _e335 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e326 + _e329)) ^ _e335));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 8u) {
        let _e347 = part2_[param.x];
        let _e350 = part2_[(param.x + 8u)];
        let _e356 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e347 + _e350)) ^ _e356));
    }
    storageBarrier();
    workgroupBarrier();
    let _e362 = (param.x < 1u);
    if _e362 {
        if _e362 {
            let _e365 = part2_[param.x];
            local_6 = _e365;
            local_7 = (param.x + 1u);
            loop {
                let _e370 = local_7;
                if (_e370 >= 8u) {
                    break;
                }
                let _e372 = local_6;
                let _e375 = part2_[_e370];
                let _e381 = slyz_call[1].x;
                local_6 = bitcast<f32>((bitcast<u32>((_e372 + _e375)) ^ _e381));
                if (u32((8u - _e370)) <= u32(1u)) {
                    break;
                }
                local_7 = (_e370 + 1u);
            }
            let _e389 = local_6;
            tmp2_[param_1.x] = _e389;
        }
    }
}

// sum_fold_parts.wgsl
// sum_fold_parts: dispatch 1, 1, 1 workgroups.
// binding 0: tmp2, f32[ceil(N / 65536)], read
// binding 1: output, f32[], written
// binding 2: uniform, 16 bytes: ceil(N / 65536), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> tmp2_: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> output: array<f32>;
var<workgroup> part2_: array<f32, 256>;
@group(0) @binding(2) 
var<uniform> slyz_call: array<vec4<u32>, 1>;

@compute @workgroup_size(256, 1, 1) 
fn main(@builtin(local_invocation_id) param: vec3<u32>, @builtin(workgroup_id) param_1: vec3<u32>) {
    var local: f32;
    var local_1: f32;
    var local_2: u32;
    var local_3: f32;
    var local_4: u32;
    var local_5: f32;
    var local_6: f32;
    var local_7: u32;
    var local_8: f32;
    var local_9: u32;

    let _e9 = slyz_call[0].x;
    let _e13 = (param.x / 256u);
    let _e15 = (param.x % 256u);
    if ((param_1.x + _e13) < 1u) {
        local_1 = 0f;
        local_2 = 0u;
        loop {
            let _e25 = local_2;
            if (_e25 >= _e9) {
                break;
            }
            let _e27 = local_1;
            let _e29 = (_e25 + 524288u);
            let _e32 = select(_e9, _e29, (_e29 < _e9));
            local_3 = 0f;
            local_4 = _e25;
            loop {
                let _e35 = local_4;
                if (_e35 >= _e32) {
                    break;
                }
                let _e37 = local_3;
                if ((_e35 + 2048u) <= _e32) {
                    let _e44 = (_e35 + _e15);
                    let _e47 = tmp2_[_e44];
                    let _e52 = tmp2_[(_e44 + 256u)];
                    let _e58 = tmp2_[(_e44 + 512u)];
                    let _e64 = tmp2_[(_e44 + 768u)];
                    let _e70 = tmp2_[(_e44 + 1024u)];
                    let _e76 = tmp2_[(_e44 + 1280u)];
                    let _e82 = tmp2_[(_e44 + 1536u)];
                    let _e88 = tmp2_[(_e44 + 1792u)];
                    let _e94 = slyz_call[0].z;
                    let _e102 = slyz_call[0].z;
                    let _e110 = slyz_call[0].z;
                    let _e118 = slyz_call[0].z;
                    let _e126 = slyz_call[0].z;
                    let _e134 = slyz_call[0].z;
                    let _e142 = slyz_call[0].z;
                    let _e150 = slyz_call[0].z;
                    local_5 = bitcast<f32>((bitcast<u32>((_e37 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e47 + _e52)) ^ _e94)) + bitcast<f32>((bitcast<u32>((_e58 + _e64)) ^ _e102)))) ^ _e126)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e70 + _e76)) ^ _e110)) + bitcast<f32>((bitcast<u32>((_e82 + _e88)) ^ _e118)))) ^ _e134)))) ^ _e142)))) ^ _e150));
                } else {
                    local_6 = _e37;
                    local_7 = (_e35 + _e15);
                    loop {
                        let _e157 = local_7;
                        if (_e157 >= _e32) {
                            break;
                        }
                        let _e159 = local_6;
                        let _e162 = tmp2_[_e157];
                        let _e168 = slyz_call[0].z;
                        local_6 = bitcast<f32>((bitcast<u32>((_e159 + _e162)) ^ _e168));
                        if (u32((_e32 - _e157)) <= u32(256u)) {
                            break;
                        }
                        local_7 = (_e157 + 256u);
                    }
                    let _e176 = local_6;
                    local_5 = _e176;
                }
                let _e177 = local_5;
                local_3 = _e177;
                if (u32((_e32 - _e35)) <= u32(2048u)) {
                    break;
                }
                local_4 = (_e35 + 2048u);
            }
            let _e183 = local_3;
            let _e189 = slyz_call[0].z;
            local_1 = bitcast<f32>((bitcast<u32>((_e27 + _e183)) ^ _e189));
            if (u32((_e9 - _e25)) <= u32(524288u)) {
                break;
            }
            local_2 = (_e25 + 524288u);
        }
        let _e197 = local_1;
        local = _e197;
    } else {
        local = 0f;
    }
    let _e198 = local;
    part2_[(_e15 + _e13)] = _e198;
    storageBarrier();
    workgroupBarrier();
    if (param.x < 128u) {
        let _e210 = part2_[param.x];
        let _e213 = part2_[(param.x + 128u)];
        let _e219 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e210 + _e213)) ^ _e219));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 64u) {
        let _e231 = part2_[param.x];
        let _e234 = part2_[(param.x + 64u)];
        let _e240 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e231 + _e234)) ^ _e240));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 32u) {
        let _e252 = part2_[param.x];
        let _e255 = part2_[(param.x + 32u)];
        let _e261 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e252 + _e255)) ^ _e261));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 16u) {
        let _e273 = part2_[param.x];
        let _e276 = part2_[(param.x + 16u)];
        let _e282 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e273 + _e276)) ^ _e282));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 8u) {
        let _e294 = part2_[param.x];
        let _e297 = part2_[(param.x + 8u)];
        let _e303 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e294 + _e297)) ^ _e303));
    }
    storageBarrier();
    workgroupBarrier();
    if (param.x < 1u) {
        if ((param_1.x + param.x) < 1u) {
            let _e316 = part2_[param.x];
            local_8 = _e316;
            local_9 = (param.x + 1u);
            loop {
                let _e321 = local_9;
                if (_e321 >= 8u) {
                    break;
                }
                let _e323 = local_8;
                let _e326 = part2_[_e321];
                let _e332 = slyz_call[0].z;
                local_8 = bitcast<f32>((bitcast<u32>((_e323 + _e326)) ^ _e332));
                if (u32((8u - _e321)) <= u32(1u)) {
                    break;
                }
                local_9 = (_e321 + 1u);
            }
            let _e340 = local_8;
            output[0u] = _e340;
        }
    }
}
