//! A program that carries its code: `build.rs` has compiled `kernels.rs`, and this runs where there is no compiler.
//!
//! ```sh
//! cargo build --release -p slyz-bundled && env -i ./target/release/slyz-bundled
//! ```
#![forbid(unsafe_code)]

mod kernels;

use slyz::prelude::*;

fn main() -> Result<(), slyz::Error> {
    let price = slyz::bundle!("black_scholes")?;
    let rows = slyz::bundle!("softmax")?;
    slyz::bundle!("relu")?;

    let prices = price.call(&[80.0f32, 100.0, 120.0], &[100.0f32; 3], &[1.0f32; 3])?.to_vec()?;
    println!("prices  {prices:.3?} on {}", price.device());
    let softmax = rows.call(&[[0.0f32, 1.0, 2.0], [0.0, 0.0, 0.0]])?.to_vec()?;
    println!("softmax {softmax:.3?} on {}", rows.device());
    let mut positive = [0.0; 4];
    kernels::relu(&[-1.0, 2.0, -3.0, 4.0], &mut positive).run()?;
    println!("relu    {positive:?}");

    // What no bundle has is compiled here, if that can be done.
    if std::env::args().nth(1).as_deref() == Some("--new") {
        let new = slyz::compile(|x: Arr<f32, kernels::N>| x * 2.0)?;
        println!("new     {:?} on {}", new.call(&[1.0f32, 2.0])?.to_vec()?, new.device());
    }
    Ok(())
}
