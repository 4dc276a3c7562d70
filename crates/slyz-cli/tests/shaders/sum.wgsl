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
    var local_4: f32;
    var local_5: u32;

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
        local_4 = _e362;
        local_5 = (param.x + 1u);
        loop {
            let _e367 = local_5;
            if (_e367 >= 8u) {
                break;
            }
            let _e369 = local_4;
            let _e372 = part2_[_e367];
            let _e378 = slyz_call[1].x;
            local_4 = bitcast<f32>((bitcast<u32>((_e369 + _e372)) ^ _e378));
            continuing {
                let _e381 = local_5;
                local_5 = (_e381 + 1u);
            }
        }
        let _e383 = local_4;
        tmp2_[param_1.x] = _e383;
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
        let _e15 = local_1;
        if (_e15 >= _e7) {
            break;
        }
        let _e17 = local;
        let _e19 = (_e15 + 524288u);
        let _e22 = select(_e7, _e19, (_e19 < _e7));
        let _e26 = (bitcast<i32>(_e22) - bitcast<i32>(_e15));
        let _e27 = bitcast<i32>(0u);
        let _e37 = (_e15 + ((bitcast<u32>(select(_e27, _e26, (_e26 > _e27))) / 2048u) * 2048u));
        let _e40 = select(_e22, _e37, (_e37 < _e22));
        local_2 = 0f;
        local_3 = _e15;
        loop {
            let _e43 = local_3;
            if (_e43 >= _e40) {
                break;
            }
            let _e45 = local_2;
            let _e47 = (_e43 + param.x);
            let _e50 = tmp2_[_e47];
            let _e55 = tmp2_[(_e47 + 256u)];
            let _e61 = tmp2_[(_e47 + 512u)];
            let _e67 = tmp2_[(_e47 + 768u)];
            let _e73 = tmp2_[(_e47 + 1024u)];
            let _e79 = tmp2_[(_e47 + 1280u)];
            let _e85 = tmp2_[(_e47 + 1536u)];
            let _e91 = tmp2_[(_e47 + 1792u)];
            let _e97 = slyz_call[0].z;
            let _e105 = slyz_call[0].z;
            let _e113 = slyz_call[0].z;
            let _e121 = slyz_call[0].z;
            let _e129 = slyz_call[0].z;
            let _e137 = slyz_call[0].z;
            let _e145 = slyz_call[0].z;
            let _e153 = slyz_call[0].z;
            local_2 = bitcast<f32>((bitcast<u32>((_e45 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e50 + _e55)) ^ _e97)) + bitcast<f32>((bitcast<u32>((_e61 + _e67)) ^ _e105)))) ^ _e129)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e73 + _e79)) ^ _e113)) + bitcast<f32>((bitcast<u32>((_e85 + _e91)) ^ _e121)))) ^ _e137)))) ^ _e145)))) ^ _e153));
            continuing {
                let _e156 = local_3;
                local_3 = (_e156 + 2048u);
            }
        }
        let _e158 = local_2;
        local_4 = _e158;
        local_5 = (_e40 + param.x);
        loop {
            let _e163 = local_5;
            if (_e163 >= _e22) {
                break;
            }
            let _e165 = local_4;
            let _e168 = tmp2_[_e163];
            let _e174 = slyz_call[0].z;
            local_4 = bitcast<f32>((bitcast<u32>((_e165 + _e168)) ^ _e174));
            continuing {
                let _e177 = local_5;
                local_5 = (_e177 + 256u);
            }
        }
        let _e179 = local_4;
        let _e185 = slyz_call[0].z;
        local = bitcast<f32>((bitcast<u32>((_e17 + _e179)) ^ _e185));
        continuing {
            let _e188 = local_1;
            local_1 = (_e188 + 524288u);
        }
    }
    let _e190 = local;
    part2_[param.x] = _e190;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e200 = part2_[param.x];
        let _e203 = part2_[(param.x + 128u)];
        let _e209 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e200 + _e203)) ^ _e209));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e221 = part2_[param.x];
        let _e224 = part2_[(param.x + 64u)];
        let _e230 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e221 + _e224)) ^ _e230));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e242 = part2_[param.x];
        let _e245 = part2_[(param.x + 32u)];
        let _e251 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e242 + _e245)) ^ _e251));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e263 = part2_[param.x];
        let _e266 = part2_[(param.x + 16u)];
        let _e272 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e263 + _e266)) ^ _e272));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e283 = part2_[param.x];
        let _e286 = part2_[(param.x + 8u)];
        let _e292 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e283 + _e286)) ^ _e292));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e301 = part2_[param.x];
        local_6 = _e301;
        local_7 = (param.x + 1u);
        loop {
            let _e306 = local_7;
            if (_e306 >= 8u) {
                break;
            }
            let _e308 = local_6;
            let _e311 = part2_[_e306];
            let _e317 = slyz_call[0].z;
            local_6 = bitcast<f32>((bitcast<u32>((_e308 + _e311)) ^ _e317));
            continuing {
                let _e320 = local_7;
                local_7 = (_e320 + 1u);
            }
        }
        let _e322 = local_6;
        output[0u] = _e322;
    }
}
