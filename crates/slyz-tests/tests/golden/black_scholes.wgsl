// Dispatch min(ceil(N / 256), 65535) workgroups.
fn normcdf(x: f32) -> f32 {
    let v = abs(x);
    let v2 = 1.0 / (1.0 + 0.2316419 * v);
    let v3 = fma(fma(fma(fma(fma(1.3302745, v2, -1.821256), v2, 1.7814779), v2, -0.35656378), v2, 0.31938154), v2, 0.0);
    let v4 = 1.0 - 0.3989423 * exp(-v * v / 2.0) * v3;
    return select(v4, 1.0 - v4, x < 0.0);
}

struct Sizes { N: u32 }

@group(0) @binding(0) var<storage, read> s: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> t: array<f32>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;
@group(0) @binding(4) var<uniform> sizes: Sizes;

@compute @workgroup_size(256)
fn black_scholes(@builtin(global_invocation_id) thread: vec3<u32>) {
    let stride = min((sizes.N + 255u) / 256u, 65535u) * 256u;
    for (var i = thread.x; i < sizes.N; i += stride) {
        let s_i = s[i];
        let x_i = x[i];
        let t_i = t[i];
        let v = 0.3 * sqrt(t_i);
        let v2 = (log(s_i / x_i) + 0.065 * t_i) / v;
        output[i] = s_i * normcdf(v2) - x_i * exp(-0.02 * t_i) * normcdf(v2 - v);
    }
}
