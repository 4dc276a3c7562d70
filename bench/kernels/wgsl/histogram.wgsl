// How many numbers fall into each of 256 bins: a table of each block in shared memory, added to the one of all. N is a multiple of 4.
override N: u32;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
// The same where there are fewer arrays.
@group(0) @binding(0) var<storage, read_write> only: array<u32>;
var<workgroup> own: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn zero(@builtin(local_invocation_index) t: u32) { only[t] = 0u; }

@compute @workgroup_size(256)
fn count(@builtin(workgroup_id) b: vec3<u32>, @builtin(num_workgroups) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    atomicStore(&own[t], 0u);
    workgroupBarrier();
    for (var i = b.x * 256u + t; i < N / 4u; i += g.x * 256u) {
        let bin = min(vec4<u32>(x[i]), vec4<u32>(255u));
        atomicAdd(&own[bin.x], 1u);
        atomicAdd(&own[bin.y], 1u);
        atomicAdd(&own[bin.z], 1u);
        atomicAdd(&own[bin.w], 1u);
    }
    workgroupBarrier();
    atomicAdd(&out[t], atomicLoad(&own[t]));
}
