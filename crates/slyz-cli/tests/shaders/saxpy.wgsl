// saxpy: dispatch min(ceil(ceil(N / 4) / 256), 65535), 1, 1 workgroups.
// binding 0: input1, f32[N], read
// binding 1: input2, f32[N], read
// binding 2: output, f32[N], written
// binding 3: uniform, 48 bytes: N, min(ceil(ceil(N / 4) / 256), 65535), ceil(N / 4), scalar 0 (f32), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> input1_: array<vec4<f32>>;
@group(0) @binding(1) 
var<storage> input2_: array<vec4<f32>>;
@group(0) @binding(2) 
var<storage, read_write> output: array<vec4<f32>>;
@group(0) @binding(3) 
var<uniform> slyz_call: array<vec4<u32>, 3>;

@compute @workgroup_size(256, 1, 1) 
fn main(@builtin(global_invocation_id) param: vec3<u32>) {
    var local: u32;
    var local_1: u32;

    let _e3 = slyz_call[1].z;
    let _e4 = bitcast<f32>(_e3);
    let _e10 = slyz_call[1].x;
    let _e14 = slyz_call[0].z;
    let _e17 = (_e14 * 256u);
    local = param.x;
    loop {
        let _e19 = local;
        if (_e19 >= _e10) {
            break;
        }
        let _e24 = slyz_call[0].x;
        let _e27 = (_e19 * 4u);
        if ((_e27 + 3u) < _e24) {
            let _e38 = input1_[(_e27 >> 2u)];
            let _e47 = input2_[(_e27 >> 2u)];
            let _e57 = slyz_call[2].x;
            let _e65 = slyz_call[2].x;
            let _e73 = slyz_call[2].x;
            let _e81 = slyz_call[2].x;
            let _e89 = slyz_call[2].x;
            let _e97 = slyz_call[2].x;
            let _e105 = slyz_call[2].x;
            let _e113 = slyz_call[2].x;
            output[(_e27 >> 2u)] = vec4<f32>(bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e38.x)) ^ _e57)) + _e47.x)) ^ _e65)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e38.y)) ^ _e73)) + _e47.y)) ^ _e81)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e38.z)) ^ _e89)) + _e47.z)) ^ _e97)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e38.w)) ^ _e105)) + _e47.w)) ^ _e113)));
        } else {
            local_1 = _e27;
            loop {
                let _e122 = local_1;
                if (_e122 >= _e24) {
                    break;
                }
                let _e131 = input1_[(_e122 >> 2u)][(_e122 & 3u)];
                let _e139 = input2_[(_e122 >> 2u)][(_e122 & 3u)];
                let _e145 = slyz_call[2].x;
                let _e153 = slyz_call[2].x;
                output[(_e122 >> 2u)][(_e122 & 3u)] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e131)) ^ _e145)) + _e139)) ^ _e153));
                if (u32((_e24 - _e122)) <= u32(1u)) {
                    break;
                }
                local_1 = (_e122 + 1u);
            }
        }
        if (u32((_e10 - _e19)) <= u32(_e17)) {
            break;
        }
        local = (_e19 + _e17);
    }
}
