// Call prices, one a thread, with the language's own mathematics.
override N: u32;
@group(0) @binding(0) var<storage, read> spot: array<f32>;
@group(0) @binding(1) var<storage, read> strike: array<f32>;
@group(0) @binding(2) var<storage, read> years: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn normcdf(x: f32) -> f32 {
    let l = abs(x);
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let q = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    let w = 1.0 - 0.3989423 * exp(-l * l / 2.0) * q;
    return select(w, 1.0 - w, x < 0.0);
}

@compute @workgroup_size(256)
fn prices(@builtin(global_invocation_id) g: vec3<u32>, @builtin(num_workgroups) blocks: vec3<u32>) {
    for (var i = g.x; i < N; i += blocks.x * 256u) {
        let s = spot[i];
        let x = strike[i];
        let t = years[i];
        let d1 = (log(s / x) + (0.02 + 0.3 * 0.3 / 2.0) * t) / (0.3 * sqrt(t));
        let d2 = d1 - 0.3 * sqrt(t);
        out[i] = s * normcdf(d1) - x * exp(-0.02 * t) * normcdf(d2);
    }
}
