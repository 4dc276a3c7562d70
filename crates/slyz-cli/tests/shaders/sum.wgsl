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
    var local_3: f32;
    var local_4: u32;
    var local_5: f32;
    var local_6: u32;

    let _e7 = (param_1.x * 65536u);
    let _e9 = (_e7 + 65536u);
    let _e13 = slyz_call[0].x;
    let _e16 = select(_e13, _e9, (_e9 < _e13));
    local = 0f;
    local_1 = _e7;
    loop {
        let _e23 = local_1;
        if (_e23 >= _e16) {
            break;
        }
        let _e25 = local;
        if ((_e23 + 4096u) <= _e16) {
            let _e35 = (_e23 + (param.x * 4u));
            let _e41 = input[(_e35 >> 2u)];
            let _e52 = input[((_e35 + 1024u) >> 2u)];
            let _e64 = input[((_e35 + 2048u) >> 2u)];
            let _e76 = input[((_e35 + 3072u) >> 2u)];
            let _e86 = slyz_call[1].x;
            let _e94 = slyz_call[1].x;
            let _e102 = slyz_call[1].x;
            let _e110 = slyz_call[1].x;
            let _e118 = slyz_call[1].x;
            let _e126 = slyz_call[1].x;
            let _e134 = slyz_call[1].x;
            let _e142 = slyz_call[1].x;
            let _e150 = slyz_call[1].x;
            let _e158 = slyz_call[1].x;
            let _e166 = slyz_call[1].x;
            let _e174 = slyz_call[1].x;
            let _e182 = slyz_call[1].x;
            let _e190 = slyz_call[1].x;
            let _e198 = slyz_call[1].x;
            let _e206 = slyz_call[1].x;
            local_2 = bitcast<f32>((bitcast<u32>((_e25 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e41.x + _e41.y)) ^ _e86)) + bitcast<f32>((bitcast<u32>((_e41.z + _e41.w)) ^ _e94)))) ^ _e150)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e52.x + _e52.y)) ^ _e102)) + bitcast<f32>((bitcast<u32>((_e52.z + _e52.w)) ^ _e110)))) ^ _e158)))) ^ _e182)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e64.x + _e64.y)) ^ _e118)) + bitcast<f32>((bitcast<u32>((_e64.z + _e64.w)) ^ _e126)))) ^ _e166)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e76.x + _e76.y)) ^ _e134)) + bitcast<f32>((bitcast<u32>((_e76.z + _e76.w)) ^ _e142)))) ^ _e174)))) ^ _e190)))) ^ _e198)))) ^ _e206));
        } else {
            local_3 = _e25;
            local_4 = (_e23 + param.x);
            loop {
                let _e213 = local_4;
                if (_e213 >= _e16) {
                    break;
                }
                let _e215 = local_3;
                let _e223 = input[(_e213 >> 2u)][(_e213 & 3u)];
                let _e229 = slyz_call[1].x;
                local_3 = bitcast<f32>((bitcast<u32>((_e215 + _e223)) ^ _e229));
                continuing {
                    let _e232 = local_4;
                    local_4 = (_e232 + 256u);
                }
            }
            let _e234 = local_3;
            local_2 = _e234;
        }
        let _e235 = local_2;
        local = _e235;
        continuing {
            let _e236 = local_1;
            local_1 = (_e236 + 4096u);
        }
    }
    let _e238 = local;
    part2_[param.x] = _e238;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e248 = part2_[param.x];
        let _e251 = part2_[(param.x + 128u)];
        let _e257 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e248 + _e251)) ^ _e257));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e269 = part2_[param.x];
        let _e272 = part2_[(param.x + 64u)];
        let _e278 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e269 + _e272)) ^ _e278));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e290 = part2_[param.x];
        let _e293 = part2_[(param.x + 32u)];
        let _e299 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e290 + _e293)) ^ _e299));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e310 = part2_[param.x];
        let _e313 = part2_[(param.x + 16u)];
        let _e319 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e310 + _e313)) ^ _e319));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e331 = part2_[param.x];
        let _e334 = part2_[(param.x + 8u)];
        let _e340 = slyz_call[1].x;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e331 + _e334)) ^ _e340));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e349 = part2_[param.x];
        local_5 = _e349;
        local_6 = (param.x + 1u);
        loop {
            let _e354 = local_6;
            if (_e354 >= 8u) {
                break;
            }
            let _e356 = local_5;
            let _e359 = part2_[_e354];
            let _e365 = slyz_call[1].x;
            local_5 = bitcast<f32>((bitcast<u32>((_e356 + _e359)) ^ _e365));
            continuing {
                let _e368 = local_6;
                local_6 = (_e368 + 1u);
            }
        }
        let _e370 = local_5;
        tmp2_[param_1.x] = _e370;
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
    var local_5: f32;
    var local_6: u32;
    var local_7: f32;
    var local_8: u32;

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
        local_2 = 0f;
        local_3 = _e15;
        loop {
            let _e25 = local_3;
            if (_e25 >= _e22) {
                break;
            }
            let _e27 = local_2;
            if ((_e25 + 2048u) <= _e22) {
                let _e34 = (_e25 + param.x);
                let _e37 = tmp2_[_e34];
                let _e42 = tmp2_[(_e34 + 256u)];
                let _e48 = tmp2_[(_e34 + 512u)];
                let _e54 = tmp2_[(_e34 + 768u)];
                let _e60 = tmp2_[(_e34 + 1024u)];
                let _e66 = tmp2_[(_e34 + 1280u)];
                let _e72 = tmp2_[(_e34 + 1536u)];
                let _e78 = tmp2_[(_e34 + 1792u)];
                let _e84 = slyz_call[0].z;
                let _e92 = slyz_call[0].z;
                let _e100 = slyz_call[0].z;
                let _e108 = slyz_call[0].z;
                let _e116 = slyz_call[0].z;
                let _e124 = slyz_call[0].z;
                let _e132 = slyz_call[0].z;
                let _e140 = slyz_call[0].z;
                local_4 = bitcast<f32>((bitcast<u32>((_e27 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e37 + _e42)) ^ _e84)) + bitcast<f32>((bitcast<u32>((_e48 + _e54)) ^ _e92)))) ^ _e116)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e60 + _e66)) ^ _e100)) + bitcast<f32>((bitcast<u32>((_e72 + _e78)) ^ _e108)))) ^ _e124)))) ^ _e132)))) ^ _e140));
            } else {
                local_5 = _e27;
                local_6 = (_e25 + param.x);
                loop {
                    let _e147 = local_6;
                    if (_e147 >= _e22) {
                        break;
                    }
                    let _e149 = local_5;
                    let _e152 = tmp2_[_e147];
                    let _e158 = slyz_call[0].z;
                    local_5 = bitcast<f32>((bitcast<u32>((_e149 + _e152)) ^ _e158));
                    continuing {
                        let _e161 = local_6;
                        local_6 = (_e161 + 256u);
                    }
                }
                let _e163 = local_5;
                local_4 = _e163;
            }
            let _e164 = local_4;
            local_2 = _e164;
            continuing {
                let _e165 = local_3;
                local_3 = (_e165 + 2048u);
            }
        }
        let _e167 = local_2;
        let _e173 = slyz_call[0].z;
        local = bitcast<f32>((bitcast<u32>((_e17 + _e167)) ^ _e173));
        continuing {
            let _e176 = local_1;
            local_1 = (_e176 + 524288u);
        }
    }
    let _e178 = local;
    part2_[param.x] = _e178;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e188 = part2_[param.x];
        let _e191 = part2_[(param.x + 128u)];
        let _e197 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e188 + _e191)) ^ _e197));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e209 = part2_[param.x];
        let _e212 = part2_[(param.x + 64u)];
        let _e218 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e209 + _e212)) ^ _e218));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e230 = part2_[param.x];
        let _e233 = part2_[(param.x + 32u)];
        let _e239 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e230 + _e233)) ^ _e239));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e251 = part2_[param.x];
        let _e254 = part2_[(param.x + 16u)];
        let _e260 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e251 + _e254)) ^ _e260));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e271 = part2_[param.x];
        let _e274 = part2_[(param.x + 8u)];
        let _e280 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e271 + _e274)) ^ _e280));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e289 = part2_[param.x];
        local_7 = _e289;
        local_8 = (param.x + 1u);
        loop {
            let _e294 = local_8;
            if (_e294 >= 8u) {
                break;
            }
            let _e296 = local_7;
            let _e299 = part2_[_e294];
            let _e305 = slyz_call[0].z;
            local_7 = bitcast<f32>((bitcast<u32>((_e296 + _e299)) ^ _e305));
            continuing {
                let _e308 = local_8;
                local_8 = (_e308 + 1u);
            }
        }
        let _e310 = local_7;
        output[0u] = _e310;
    }
}
