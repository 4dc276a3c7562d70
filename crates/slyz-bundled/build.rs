//! Compiles the functions of `src/kernels.rs` while the program is built.

#[path = "src/kernels.rs"]
mod kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut positive = [0.0];
    slyz_build::Bundle::new()
        .function("black_scholes", kernels::black_scholes)
        .function_of_views("softmax", kernels::softmax)
        .function("layer", kernels::layer)
        .function("pairs", kernels::pairs)
        .kernel("relu", &kernels::relu(&[0.0], &mut positive))
        .also(["spirv", "wgsl"])
        .write()?;
    Ok(())
}
