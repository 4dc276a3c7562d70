//! A program that carries its code: `build.rs` has compiled `kernels.rs`, and this runs where there is no compiler.
//!
//! ```sh
//! cargo build --release -p slyz-bundled && env -i ./target/release/slyz-bundled
//! ```
// A kernel in C is vouched for where it stands.
#![deny(unsafe_code)]

mod kernels;

use slyz::prelude::*;

fn main() -> Result<(), slyz::Error> {
    let price = slyz::bundle!("black_scholes")?;
    let rows = slyz::bundle!("softmax")?;
    let layer = slyz::bundle!("layer")?;
    let pairs = slyz::bundle!("pairs")?;
    slyz::bundle!("relu")?;

    let prices = price.call(&[80.0f32, 100.0, 120.0], &[100.0f32; 3], &[1.0f32; 3])?.to_vec()?;
    println!("prices  {prices:.3?} on {}", price.device());
    let softmax = rows.call(&[[0.0f32, 1.0, 2.0], [0.0, 0.0, 0.0]])?.to_vec()?;
    println!("softmax {softmax:.3?} on {}", rows.device());
    // Rows of a table turned around, and of its last columns, where they lie.
    let table = Tensor::<f32, (kernels::R, kernels::C)>::from_vec([2, 3], vec![0.0, 1.0, 2.0, 0.0, 0.0, 0.0])?;
    let turned = rows.call(table.view::<2>()?.transpose(0, 1)?)?.to_vec()?;
    let part = rows.call(table.view::<2>()?.slice(1, 1..3)?)?.to_vec()?;
    println!("views   {turned:.3?} {part:.3?} on {}", rows.device());
    let product = layer.call(&[[1.0f32, 2.0], [3.0, 4.0]], &[[1.0f32, 0.0], [0.0, 1.0]])?.to_vec()?;
    println!("layer   {product:.1?} on {}", layer.device());
    let sums = pairs.call(&[1.0f32, 2.0, 3.0], &[4.0f32, 5.0, 6.0])?.to_vec()?;
    println!("pairs   {sums:?} on {}", pairs.device());
    let mut positive = [0.0; 4];
    kernels::relu(&[-1.0, 2.0, -3.0, 4.0], &mut positive).run()?;
    println!("relu    {positive:?}");

    // How often that was code of the bundle.
    if std::env::args().nth(1).as_deref() == Some("--code") {
        for (target, times) in slyz_run::bundle::taken() {
            println!("code    {times} of {target}");
        }
    }
    // What no bundle has is compiled here, if that can be done.
    if std::env::args().nth(1).as_deref() == Some("--new") {
        let new = slyz::compile(|x: Arr<f32, kernels::N>| x * 2.0)?;
        println!("new     {:?} on {}", new.call(&[1.0f32, 2.0])?.to_vec()?, new.device());
    }
    Ok(())
}
