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
            let _e37 = (_e35 - _e28);
            let _e46 = (_e28 + ((select(0u, _e37, (_e37 > 0u)) / 2048u) * 2048u));
            let _e49 = select(_e35, _e46, (_e46 < _e35));
            local_4 = 0f;
            local_5 = _e28;
            loop {
                let _e52 = local_5;
                if (_e52 >= _e49) {
                    break;
                }
                let _e54 = local_4;
                let _e56 = (_e52 + param.x);
                let _e59 = tmp2_[_e56];
                let _e64 = tmp2_[(_e56 + 256u)];
                let _e70 = tmp2_[(_e56 + 512u)];
                let _e76 = tmp2_[(_e56 + 768u)];
                let _e82 = tmp2_[(_e56 + 1024u)];
                let _e88 = tmp2_[(_e56 + 1280u)];
                let _e94 = tmp2_[(_e56 + 1536u)];
                let _e100 = tmp2_[(_e56 + 1792u)];
                let _e106 = slyz_call[0].z;
                let _e114 = slyz_call[0].z;
                let _e122 = slyz_call[0].z;
                let _e130 = slyz_call[0].z;
                let _e138 = slyz_call[0].z;
                let _e146 = slyz_call[0].z;
                let _e154 = slyz_call[0].z;
                let _e162 = slyz_call[0].z;
                local_4 = bitcast<f32>((bitcast<u32>((_e54 + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e59 + _e64)) ^ _e106)) + bitcast<f32>((bitcast<u32>((_e70 + _e76)) ^ _e114)))) ^ _e138)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e82 + _e88)) ^ _e122)) + bitcast<f32>((bitcast<u32>((_e94 + _e100)) ^ _e130)))) ^ _e146)))) ^ _e154)))) ^ _e162));
                continuing {
                    let _e165 = local_5;
                    local_5 = (_e165 + 2048u);
                }
            }
            let _e167 = local_4;
            local_6 = _e167;
            local_7 = (_e49 + param.x);
            loop {
                let _e172 = local_7;
                if (_e172 >= _e35) {
                    break;
                }
                let _e174 = local_6;
                let _e177 = tmp2_[_e172];
                let _e183 = slyz_call[0].z;
                local_6 = bitcast<f32>((bitcast<u32>((_e174 + _e177)) ^ _e183));
                continuing {
                    let _e186 = local_7;
                    local_7 = (_e186 + 256u);
                }
            }
            let _e188 = local_6;
            let _e194 = slyz_call[0].z;
            local_2 = bitcast<f32>((bitcast<u32>((_e30 + _e188)) ^ _e194));
            continuing {
                let _e197 = local_3;
                local_3 = (_e197 + 32768u);
            }
        }
        let _e199 = local_2;
        let _e205 = slyz_call[0].z;
        local = bitcast<f32>((bitcast<u32>((_e20 + _e199)) ^ _e205));
        continuing {
            let _e208 = local_1;
            local_1 = (_e208 + 131072u);
        }
    }
    let _e210 = local;
    part2_[param.x] = _e210;
    workgroupBarrier();
    if (param.x < 128u) {
        let _e220 = part2_[param.x];
        let _e223 = part2_[(param.x + 128u)];
        let _e229 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e220 + _e223)) ^ _e229));
    }
    workgroupBarrier();
    if (param.x < 64u) {
        let _e241 = part2_[param.x];
        let _e244 = part2_[(param.x + 64u)];
        let _e250 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e241 + _e244)) ^ _e250));
    }
    workgroupBarrier();
    if (param.x < 32u) {
        let _e262 = part2_[param.x];
        let _e265 = part2_[(param.x + 32u)];
        let _e271 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e262 + _e265)) ^ _e271));
    }
    workgroupBarrier();
    if (param.x < 16u) {
        let _e282 = part2_[param.x];
        let _e285 = part2_[(param.x + 16u)];
        let _e291 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e282 + _e285)) ^ _e291));
    }
    workgroupBarrier();
    if (param.x < 8u) {
        let _e302 = part2_[param.x];
        let _e305 = part2_[(param.x + 8u)];
        let _e311 = slyz_call[0].z;
        part2_[param.x] = bitcast<f32>((bitcast<u32>((_e302 + _e305)) ^ _e311));
    }
    workgroupBarrier();
    if (param.x < 1u) {
        let _e320 = part2_[param.x];
        let _e325 = part2_[(param.x + 1u)];
        let _e331 = part2_[(param.x + 2u)];
        let _e337 = part2_[(param.x + 3u)];
        let _e342 = part2_[(param.x + 4u)];
        let _e348 = part2_[(param.x + 5u)];
        let _e354 = part2_[(param.x + 6u)];
        let _e360 = part2_[(param.x + 7u)];
        let _e366 = slyz_call[0].z;
        let _e374 = slyz_call[0].z;
        let _e382 = slyz_call[0].z;
        let _e390 = slyz_call[0].z;
        let _e398 = slyz_call[0].z;
        let _e406 = slyz_call[0].z;
        let _e414 = slyz_call[0].z;
        output[0u] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e320 + _e325)) ^ _e366)) + bitcast<f32>((bitcast<u32>((_e331 + _e337)) ^ _e374)))) ^ _e398)) + bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e342 + _e348)) ^ _e382)) + bitcast<f32>((bitcast<u32>((_e354 + _e360)) ^ _e390)))) ^ _e406)))) ^ _e414));
    }
}
