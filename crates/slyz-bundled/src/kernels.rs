//! What the program computes. `build.rs` has this file, too.

use slyz::prelude::*;

axis!(N, R, C);

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    0.5 * (-x * std::f32::consts::FRAC_1_SQRT_2).erfc()
}

/// Prices of calls.
pub fn black_scholes(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (0.02, 0.30);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d2)
    })
}

/// Rows that sum up to 1.
pub fn softmax(x: Arr<f32, (R, C)>) -> Arr<f32, (R, C)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

/// Products in bytes: what is made of the weights alone is made once.
#[slyz::quantize(i8)]
pub fn layer(x: Arr<f32, (R, N)>, w: Arr<f32, (N, C)>) -> Arr<f32, (R, C)> {
    x.matmul(w)
}

const PAIRS_C: &str =
    "void pairs(const float *x, const float *y, float *sum, long long n, long long begin, long long end) {
    (void)n;
    for (long long i = begin; i < end; i++) sum[i] = x[i] + y[i];
}";

const PAIRS_CUDA: &str = r#"extern "C" __global__ void pairs(const float *x, const float *y, float *sum, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) sum[i] = x[i] + y[i];
}"#;

/// Sums of pairs by a kernel in C or CUDA, and twice that.
pub fn pairs(x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> {
    type Pairs = fn(Arr<f32, N>, Arr<f32, N>) -> Arr<f32, N>;
    let kernel = slyz::Raw::<Pairs>::new("pairs").threads::<N>().extent::<N>();
    let kernel = kernel.meaning(|x: Arr<f32, N>, y: Arr<f32, N>| x + y);
    // SAFETY: they read and write the elements that there are, and write all of them.
    #[allow(unsafe_code)]
    let kernel = unsafe { kernel.c(PAIRS_C).cuda(PAIRS_CUDA) };
    kernel.call(x, y) * 2.0
}

/// What is positive.
#[graph]
pub fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let idx = thread.x;
    if idx < output.len() {
        output[idx] = max(0.0, input[idx]);
    }
}
