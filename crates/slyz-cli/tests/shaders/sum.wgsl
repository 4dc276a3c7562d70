// sum_fold.wgsl
// sum_fold: dispatch min(ceil(N / 16384), 65535), 1, 1 workgroups.
// binding 0: input, f32[N], read
// binding 1: tmp1, f32[ceil(N / 16384)], written
// binding 2: uniform, 32 bytes: N, min(ceil(N / 16384), 65535), ceil(N / 16384), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> input: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> tmp1_: array<f32>;
var<workgroup> part1_: array<f32, 256>;
@group(0) @binding(2) 
var<uniform> slyz_call: array<vec4<u32>, 2>;

@compute @workgroup_size(256, 1, 1) 
fn main(@builtin(local_invocation_id) param: vec3<u32>, @builtin(workgroup_id) param_1: vec3<u32>) {
    var local: u32;
    var local_1: f32;
    var local_2: u32;
    var local_3: i32;

    let _e11 = slyz_call[1].x;
    let _e15 = slyz_call[0].z;
    local = param_1.x;
    loop {
        let _e17 = local;
        if (_e17 >= _e11) {
            break;
        }
        let _e21 = (_e17 * 16384u);
        let _e23 = (_e21 + 16384u);
        let _e27 = slyz_call[0].x;
        let _e30 = select(_e27, _e23, (_e23 < _e27));
        local_1 = 0f;
        local_2 = (_e21 + param.x);
        loop {
            let _e36 = local_2;
            if (_e36 >= _e30) {
                break;
            }
            let _e38 = local_1;
            let _e41 = input[_e36];
            let _e47 = slyz_call[1].z;
            local_1 = bitcast<f32>((bitcast<u32>((_e38 + _e41)) ^ _e47));
            if (u32((_e30 - _e36)) <= u32(256u)) {
                break;
            }
            local_2 = (_e36 + 256u);
        }
        let _e55 = local_1;
        storageBarrier();
        workgroupBarrier();
        part1_[param.x] = _e55;
        local_3 = bitcast<i32>(1u);
        loop {
            let _e62 = local_3;
            if !((_e62 < bitcast<i32>(256u))) {
                break;
            }
            let _e67 = local_3;
            storageBarrier();
            workgroupBarrier();
            let _e70 = (_e67 * bitcast<i32>(2u));
            let _e71 = bitcast<i32>(param.x);
            let _e89 = (bitcast<i32>(param.x) + _e67);
            if (((_e71 % select(_e70, 1i, ((_e70 == 0i) || ((_e71 == i32(-2147483648)) && (_e70 == -1i))))) == bitcast<i32>(0u)) && (_e89 < bitcast<i32>(256u))) {
                let _e96 = part1_[param.x];
                let _e100 = part1_[bitcast<u32>(_e89)];
                let _e106 = slyz_call[1].z;
                part1_[param.x] = bitcast<f32>((bitcast<u32>((_e96 + _e100)) ^ _e106));
            }
            local_3 = _e70;
        }
        storageBarrier();
        workgroupBarrier();
        let _e114 = part1_[0u];
        if (param.x == 0u) {
            tmp1_[_e17] = _e114;
        }
        if (u32((_e11 - _e17)) <= u32(_e15)) {
            break;
        }
        local = (_e17 + _e15);
    }
}

// sum_fold_parts.wgsl
// sum_fold_parts: dispatch 1, 1, 1 workgroups.
// binding 0: tmp1, f32[ceil(N / 16384)], read
// binding 1: output, f32[], written
// binding 2: uniform, 16 bytes: ceil(N / 16384), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> tmp1_: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> output: array<f32>;
var<workgroup> part1_: array<f32, 256>;
@group(0) @binding(2) 
var<uniform> slyz_call: array<vec4<u32>, 1>;

@compute @workgroup_size(256, 1, 1) 
fn main(@builtin(local_invocation_id) param: vec3<u32>) {
    var local: f32;
    var local_1: u32;
    var local_2: f32;
    var local_3: u32;
    var local_4: i32;

    let _e9 = slyz_call[0].x;
    local = 0f;
    local_1 = 0u;
    loop {
        let _e13 = local_1;
        if (_e13 >= _e9) {
            break;
        }
        let _e15 = local;
        let _e17 = (_e13 + 65536u);
        let _e20 = select(_e9, _e17, (_e17 < _e9));
        local_2 = 0f;
        local_3 = (_e13 + param.x);
        loop {
            let _e26 = local_3;
            if (_e26 >= _e20) {
                break;
            }
            let _e28 = local_2;
            let _e31 = tmp1_[_e26];
            let _e37 = slyz_call[0].z;
            local_2 = bitcast<f32>((bitcast<u32>((_e28 + _e31)) ^ _e37));
            if (u32((_e20 - _e26)) <= u32(256u)) {
                break;
            }
            local_3 = (_e26 + 256u);
        }
        let _e45 = local_2;
        storageBarrier();
        workgroupBarrier();
        part1_[param.x] = _e45;
        local_4 = bitcast<i32>(1u);
        loop {
            let _e52 = local_4;
            if !((_e52 < bitcast<i32>(256u))) {
                break;
            }
            let _e57 = local_4;
            storageBarrier();
            workgroupBarrier();
            let _e60 = (_e57 * bitcast<i32>(2u));
            let _e61 = bitcast<i32>(param.x);
            let _e79 = (bitcast<i32>(param.x) + _e57);
            if (((_e61 % select(_e60, 1i, ((_e60 == 0i) || ((_e61 == i32(-2147483648)) && (_e60 == -1i))))) == bitcast<i32>(0u)) && (_e79 < bitcast<i32>(256u))) {
                let _e86 = part1_[param.x];
                let _e90 = part1_[bitcast<u32>(_e79)];
                let _e96 = slyz_call[0].z;
                part1_[param.x] = bitcast<f32>((bitcast<u32>((_e86 + _e90)) ^ _e96));
            }
            local_4 = _e60;
        }
        storageBarrier();
        workgroupBarrier();
        let _e104 = part1_[0u];
        let _e110 = slyz_call[0].z;
        local = bitcast<f32>((bitcast<u32>((_e15 + _e104)) ^ _e110));
        if (u32((_e9 - _e13)) <= u32(65536u)) {
            break;
        }
        local_1 = (_e13 + 65536u);
    }
    let _e118 = local;
    if (param.x == 0u) {
        output[0u] = _e118;
    }
}
