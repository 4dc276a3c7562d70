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
    local = param.x;
    loop {
        let _e19 = local;
        if (_e19 >= _e10) {
            break;
        }
        let _e24 = slyz_call[0].x;
        let _e27 = (_e19 * 4u);
        if ((_e27 + 3u) < _e24) {
            let _e36 = input1_[_e19];
            let _e43 = input2_[_e19];
            let _e53 = slyz_call[2].x;
            let _e61 = slyz_call[2].x;
            let _e69 = slyz_call[2].x;
            let _e77 = slyz_call[2].x;
            let _e85 = slyz_call[2].x;
            let _e93 = slyz_call[2].x;
            let _e101 = slyz_call[2].x;
            let _e109 = slyz_call[2].x;
            output[_e19] = vec4<f32>(bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e36.x)) ^ _e53)) + _e43.x)) ^ _e61)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e36.y)) ^ _e69)) + _e43.y)) ^ _e77)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e36.z)) ^ _e85)) + _e43.z)) ^ _e93)), bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e36.w)) ^ _e101)) + _e43.w)) ^ _e109)));
        } else {
            local_1 = _e27;
            loop {
                let _e116 = local_1;
                if (_e116 >= _e24) {
                    break;
                }
                let _e125 = input1_[(_e116 >> 2u)][(_e116 & 3u)];
                let _e133 = input2_[(_e116 >> 2u)][(_e116 & 3u)];
                let _e139 = slyz_call[2].x;
                let _e147 = slyz_call[2].x;
                output[(_e116 >> 2u)][(_e116 & 3u)] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e125)) ^ _e139)) + _e133)) ^ _e147));
                continuing {
                    let _e157 = local_1;
                    local_1 = (_e157 + 1u);
                }
            }
        }
        continuing {
            let _e159 = local;
            local = (_e159 + (_e14 * 256u));
        }
    }
}
