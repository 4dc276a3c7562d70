//! Kernels from a file, checked while the program is compiled.
//!
//! `cargo run --example vex`

use slyz::prelude::*;

slyz::vex!("examples/kernels/relu.vex");

fn main() -> Result<(), slyz::Error> {
    let x = Tensor::<f32>::from_vec([4], vec![-1.0, 2.0, -3.0, 4.0])?;
    let mut y = Tensor::<f32>::zeros([4])?;
    relu(&x, &mut y).threads(x.len()).run()?;
    println!("{:?}", y.to_vec()?);
    Ok(())
}
