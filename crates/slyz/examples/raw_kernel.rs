//! A kernel in the device's own language inside of a traced function: points that fill the unit interval evenly, by the instruction that reverses bits. The estimate
//! of π that is made of them is fused up to it.
//!
//! ```sh
//! cargo run --release --example raw_kernel
//! ```

use slyz::Raw;
use slyz::prelude::*;

axis!(N);

const CUDA: &str = r#"
extern "C" __global__ void even_points(float *points, unsigned scramble, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) points[i] = ((__brev((unsigned)i) ^ scramble) >> 8) * 0x1p-24f;
}"#;

const OPENCL: &str = "
__kernel void even_points(__global float *points, uint scramble, long n) {
    long i = get_global_id(0);
    uint bits = (uint)i, reversed = 0;
    for (int k = 0; k < 32; k++, bits >>= 1) reversed = reversed << 1 | (bits & 1);
    if (i < n) points[i] = ((reversed ^ scramble) >> 8) * 0x1p-24f;
}";

const WGSL: &str = "
struct Call { scramble: u32, n: u32 }
@group(0) @binding(0) var<storage, read_write> points: array<f32>;
@group(0) @binding(1) var<uniform> call: Call;

@compute @workgroup_size(256)
fn even_points(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < call.n {
        points[at.x] = f32((reverseBits(at.x) ^ call.scramble) >> 8u) * 0x1p-24f;
    }
}";

const C: &str = "
void even_points(float *points, unsigned scramble, long long n, long long begin, long long end) {
    (void)n;
    for (long long i = begin; i < end; i++) {
        unsigned bits = __builtin_bswap32((unsigned)i);
        bits = (bits & 0x0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f);
        bits = (bits & 0x33333333) << 2 | (bits >> 2 & 0x33333333);
        bits = (bits & 0x55555555) << 1 | (bits >> 1 & 0x55555555);
        points[i] = ((bits ^ scramble) >> 8) * 0x1p-24f;
    }
}";

/// For devices that it is not written for.
fn meaning(scramble: Exp<u32>) -> Arr<f32, N> {
    tabulate(|i: Idx<N>| ((i.u32().reverse_bits() ^ scramble) >> 8).cast::<f32>() * (0.5f32).powi(24))
}

type EvenPoints = fn(Exp<u32>) -> Arr<f32, N>;

fn even_points() -> Raw<EvenPoints> {
    let kernel = Raw::new("even_points").threads::<N>().extent::<N>().meaning(meaning).wgsl(WGSL);
    // SAFETY: each writes the elements below n, and nothing else.
    unsafe { kernel.cuda(CUDA).opencl(OPENCL).c(C) }
}

/// How many of the points of a square are in the circle.
fn circle(points: Arr<f32, N>) -> Exp<f32> {
    let n = Idx::<N>::extent().cast::<f32>();
    let inside = |i: Idx<N>| {
        let x = (i.u32().cast::<f32>() + 0.5) / n;
        let y = points.at(i);
        (x * x + y * y).lt(1.0)
    };
    count(inside).cast::<f32>() * 4.0 / n
}

fn main() -> Result<(), slyz::Error> {
    let kernel = even_points();
    let estimate = compile(move |scramble: Exp<u32>| circle(kernel.call(scramble)))?.size::<N>(1 << 20);
    let pi = estimate.call(0x9e37_79b9)?.value()?;
    println!("on {}: π is about {pi}", estimate.device());
    println!("{}", estimate.explain());
    assert!((pi - std::f32::consts::PI).abs() < 1e-3);

    // What was written and what it means agree to the bit.
    let interpreter = slyz::device("interpreter")?;
    let meant = slyz::compile_on(&interpreter, meaning)?.size::<N>(1000).call(77)?.to_vec()?;
    let written = even_points().compile()?.size::<N>(1000).call(77)?.to_vec()?;
    assert_eq!(written, meant);
    Ok(())
}
