// saxpy: dispatch min(ceil(ceil(N / 4) / 256), 65535), 1, 1 workgroups.
// binding 0: input1, f32[N], read
// binding 1: input2, f32[N], read
// binding 2: output, f32[N], written
// binding 3: uniform, 48 bytes: N, min(ceil(ceil(N / 4) / 256), 65535), ceil(N / 4), scalar 0 (f32), each 8 bytes, little-endian; then zeros

@group(0) @binding(0) 
var<storage> input1_: array<f32>;
@group(0) @binding(1) 
var<storage> input2_: array<f32>;
@group(0) @binding(2) 
var<storage, read_write> output: array<f32>;
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
            let _e36 = input1_[_e27];
            let _e41 = input1_[(_e27 + 1u)];
            let _e46 = input1_[(_e27 + 2u)];
            let _e51 = input1_[(_e27 + 3u)];
            let _e54 = input2_[_e27];
            let _e59 = input2_[(_e27 + 1u)];
            let _e64 = input2_[(_e27 + 2u)];
            let _e69 = input2_[(_e27 + 3u)];
            let _e75 = slyz_call[2].x;
            let _e83 = slyz_call[2].x;
            let _e91 = slyz_call[2].x;
            let _e99 = slyz_call[2].x;
            let _e107 = slyz_call[2].x;
            let _e115 = slyz_call[2].x;
            let _e123 = slyz_call[2].x;
            let _e131 = slyz_call[2].x;
            output[_e27] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e36)) ^ _e75)) + _e54)) ^ _e83));
            output[(_e27 + 1u)] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e41)) ^ _e91)) + _e59)) ^ _e99));
            output[(_e27 + 2u)] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e46)) ^ _e107)) + _e64)) ^ _e115));
            output[(_e27 + 3u)] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e51)) ^ _e123)) + _e69)) ^ _e131));
        } else {
            local_1 = _e27;
            loop {
                let _e149 = local_1;
                if (_e149 >= _e24) {
                    break;
                }
                let _e153 = input1_[_e149];
                let _e156 = input2_[_e149];
                let _e162 = slyz_call[2].x;
                let _e170 = slyz_call[2].x;
                output[_e149] = bitcast<f32>((bitcast<u32>((bitcast<f32>((bitcast<u32>((_e4 * _e153)) ^ _e162)) + _e156)) ^ _e170));
                if (u32((_e24 - _e149)) <= u32(1u)) {
                    break;
                }
                local_1 = (_e149 + 1u);
            }
        }
        if (u32((_e10 - _e19)) <= u32(_e17)) {
            break;
        }
        local = (_e19 + _e17);
    }
}
