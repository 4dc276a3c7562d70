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
    var local_1: u32;
    var local_2: f32;
    var local_3: u32;

    let _e8 = (param_1.x * 65536u);
    let _e10 = (_e8 + 65536u);
    let _e14 = slyz_call[0].x;
    let _e17 = select(_e14, _e10, (_e10 < _e14));
    let _e25 = (bitcast<i32>(_e17) - bitcast<i32>(_e8));
    let _e26 = bitcast<i32>(0u);
    let _e36 = (_e8 + ((bitcast<u32>(select(_e26, _e25, (_e25 > _e26))) / 4096u) * 4096u));
    let _e39 = select(_e17, _e36, (_e36 < _e17));
    local = 0f;
    local_1 = _e8;
    loop {
        let _e42 = local_1;
        if (_e42 >= _e39) {
            break;
        }
        let _e44 = local;
        let _e49 = (_e42 + (param.x * 4u));
        let _e55 = input[(_e49 >> 2u)];
        let _e66 = input[((_e49 + 1024u) >> 2u)];
        let _e78 = input[((_e49 + 2048u) >> 2u)];
        let _e90 = input[((_e49 + 3072u) >> 2u)];
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
        let _e220 = slyz_call[1].x;
        local = bitcast<f32>((bitcast<u32>((_e44 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e55.x + _e55.y)) ^ _e100)) + bitcast<f32>((bitcast<u32>((_e55.z + _e55.w)) ^ _e108)))) ^ _e164)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e66.x + _e66.y)) ^ _e116)) + bitcast<f32>((bitcast<u32>((_e66.z + _e66.w)) ^ _e124)))) ^ _e172)))) ^ _e196)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e78.x + _e78.y)) ^ _e132)) + bitcast<f32>((bitcast<u32>((_e78.z + _e78.w)) ^ _e140)))) ^ _e180)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e90.x + _e90.y)) ^ _e148)) + bitcast<f32>((bitcast<u32>((_e90.z + _e90.w)) ^ _e156)))) ^ _e188)))) ^ _e204)))) ^ _e212)))) ^ _e220));
        continuing {
            let _e223 = local_1;
            local_1 = (_e223 + 4096u);
        }
    }
    let _e225 = local;
    local_2 = _e225;
    local_3 = (_e39 + param.x);
    loop {
        let _e230 = local_3;
        if (_e230 >= _e17) {
            break;
        }
        let _e232 = local_2;
        let _e240 = input[(_e230 >> 2u)][(_e230 & 3u)];
        let _e246 = slyz_call[1].x;
        local_2 = bitcast<f32>((bitcast<u32>((_e232 + _e240)) ^ _e246));
        continuing {
            let _e249 = local_3;
            local_3 = (_e249 + 256u);
        }
    }
    let _e251 = local_2;
    part2_[param.x] = _e251;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e261 = part2_[param.x];
        let _e264 = part2_[(param.x + 128u)];
        let _e270 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e261 + _e264)) ^ _e270));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e282 = part2_[param.x];
        let _e285 = part2_[(param.x + 64u)];
        let _e291 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e282 + _e285)) ^ _e291));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e303 = part2_[param.x];
        let _e306 = part2_[(param.x + 32u)];
        let _e312 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e303 + _e306)) ^ _e312));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e323 = part2_[param.x];
        let _e326 = part2_[(param.x + 16u)];
        let _e332 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e323 + _e326)) ^ _e332));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e344 = part2_[param.x];
        let _e347 = part2_[(param.x + 8u)];
        let _e353 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e344 + _e347)) ^ _e353));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e362 = part2_[param.x];
        let _e367 = part2_[(param.x + 1u)];
        let _e373 = part2_[(param.x + 2u)];
        let _e379 = part2_[(param.x + 3u)];
        let _e385 = part2_[(param.x + 4u)];
        let _e391 = part2_[(param.x + 5u)];
        let _e397 = part2_[(param.x + 6u)];
        let _e403 = part2_[(param.x + 7u)];
        let _e409 = slyz_call[1].x;
        let _e417 = slyz_call[1].x;
        let _e425 = slyz_call[1].x;
        let _e433 = slyz_call[1].x;
        let _e441 = slyz_call[1].x;
        let _e449 = slyz_call[1].x;
        let _e457 = slyz_call[1].x;
        tmp2_[param_1.x] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e362 + _e367)) ^ _e409)) + bitcast<f32>((bitcast<u32>((_e373 + _e379)) ^ _e417)))) ^ _e441)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e385 + _e391)) ^ _e425)) + bitcast<f32>((bitcast<u32>((_e397 + _e403)) ^ _e433)))) ^ _e449)))) ^ _e457));
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
fn main(@builtin(local_invocation_id) param: vec3<u32>) {
    var local: f32;
    var local_1: u32;
    var local_2: f32;
    var local_3: u32;
    var local_4: f32;
    var local_5: u32;
    var local_6: f32;
    var local_7: u32;

    let _e7 = slyz_call[0].x;
    local = 0f;
    local_1 = 0u;
    loop {
        let _e18 = local_1;
        if (_e18 >= _e7) {
            break;
        }
        let _e20 = local;
        let _e22 = (_e18 + 131072u);
        let _e25 = select(_e7, _e22, (_e22 < _e7));
        local_2 = 0f;
        local_3 = _e18;
        loop {
            let _e28 = local_3;
            if (_e28 >= _e25) {
                break;
            }
            let _e30 = local_2;
            let _e32 = (_e28 + 32768u);
            let _e35 = select(_e25, _e32, (_e32 < _e25));
            let _e39 = (bitcast<i32>(_e35) - bitcast<i32>(_e28));
            let _e40 = bitcast<i32>(0u);
            let _e50 = (_e28 + ((bitcast<u32>(select(_e40, _e39, (_e39 > _e40))) / 2048u) * 2048u));
            let _e53 = select(_e35, _e50, (_e50 < _e35));
            local_4 = 0f;
            local_5 = _e28;
            loop {
                let _e56 = local_5;
                if (_e56 >= _e53) {
                    break;
                }
                let _e58 = local_4;
                let _e60 = (_e56 + param.x);
                let _e63 = tmp2_[_e60];
                let _e68 = tmp2_[(_e60 + 256u)];
                let _e74 = tmp2_[(_e60 + 512u)];
                let _e80 = tmp2_[(_e60 + 768u)];
                let _e86 = tmp2_[(_e60 + 1024u)];
                let _e92 = tmp2_[(_e60 + 1280u)];
                let _e98 = tmp2_[(_e60 + 1536u)];
                let _e104 = tmp2_[(_e60 + 1792u)];
                let _e110 = slyz_call[0].z;
                let _e118 = slyz_call[0].z;
                let _e126 = slyz_call[0].z;
                let _e134 = slyz_call[0].z;
                let _e142 = slyz_call[0].z;
                let _e150 = slyz_call[0].z;
                let _e158 = slyz_call[0].z;
                let _e166 = slyz_call[0].z;
                local_4 = bitcast<f32>((bitcast<u32>((_e58 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e63 + _e68)) ^ _e110)) + bitcast<f32>((bitcast<u32>((_e74 + _e80)) ^ _e118)))) ^ _e142)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e86 + _e92)) ^ _e126)) + bitcast<f32>((bitcast<u32>((_e98 + _e104)) ^ _e134)))) ^ _e150)))) ^ _e158)))) ^ _e166));
                continuing {
                    let _e169 = local_5;
                    local_5 = (_e169 + 2048u);
                }
            }
            let _e171 = local_4;
            local_6 = _e171;
            local_7 = (_e53 + param.x);
            loop {
                let _e176 = local_7;
                if (_e176 >= _e35) {
                    break;
                }
                let _e178 = local_6;
                let _e181 = tmp2_[_e176];
                let _e187 = slyz_call[0].z;
                local_6 = bitcast<f32>((bitcast<u32>((_e178 + _e181)) ^ _e187));
                continuing {
                    let _e190 = local_7;
                    local_7 = (_e190 + 256u);
                }
            }
            let _e192 = local_6;
            let _e198 = slyz_call[0].z;
            local_2 = bitcast<f32>((bitcast<u32>((_e30 + _e192)) ^ _e198));
            continuing {
                let _e201 = local_3;
                local_3 = (_e201 + 32768u);
            }
        }
        let _e203 = local_2;
        let _e209 = slyz_call[0].z;
        local = bitcast<f32>((bitcast<u32>((_e20 + _e203)) ^ _e209));
        continuing {
            let _e212 = local_1;
            local_1 = (_e212 + 131072u);
        }
    }
    let _e214 = local;
    part2_[param.x] = _e214;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e224 = part2_[param.x];
        let _e227 = part2_[(param.x + 128u)];
        let _e233 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e224 + _e227)) ^ _e233));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e245 = part2_[param.x];
        let _e248 = part2_[(param.x + 64u)];
        let _e254 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e245 + _e248)) ^ _e254));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e266 = part2_[param.x];
        let _e269 = part2_[(param.x + 32u)];
        let _e275 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e266 + _e269)) ^ _e275));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e286 = part2_[param.x];
        let _e289 = part2_[(param.x + 16u)];
        let _e295 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e286 + _e289)) ^ _e295));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e306 = part2_[param.x];
        let _e309 = part2_[(param.x + 8u)];
        let _e315 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e306 + _e309)) ^ _e315));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e324 = part2_[param.x];
        let _e329 = part2_[(param.x + 1u)];
        let _e335 = part2_[(param.x + 2u)];
        let _e341 = part2_[(param.x + 3u)];
        let _e346 = part2_[(param.x + 4u)];
        let _e352 = part2_[(param.x + 5u)];
        let _e358 = part2_[(param.x + 6u)];
        let _e364 = part2_[(param.x + 7u)];
        let _e370 = slyz_call[0].z;
        let _e378 = slyz_call[0].z;
        let _e386 = slyz_call[0].z;
        let _e394 = slyz_call[0].z;
        let _e402 = slyz_call[0].z;
        let _e410 = slyz_call[0].z;
        let _e418 = slyz_call[0].z;
        output[0u] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e324 + _e329)) ^ _e370)) + bitcast<f32>((bitcast<u32>((_e335 + _e341)) ^ _e378)))) ^ _e402)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e346 + _e352)) ^ _e386)) + bitcast<f32>((bitcast<u32>((_e358 + _e364)) ^ _e394)))) ^ _e410)))) ^ _e418));
    }
}
