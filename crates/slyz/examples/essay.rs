//! The kernels of the essay that Słyż began with, as Metal and Swift: `cargo run --example essay -- --out DIR`.

use slyz::prelude::*;
use std::path::PathBuf;

/// The seven kernels, under the essay's names.
pub fn program() -> Result<Module, slyz::Error> {
    let mut program = Module::new();
    program.kernel("vec_map", |x: Arr<f32, Vector<8>>| x.map(|x| x * 2.0 + 1.0))?;
    program.kernel("mat_sqrt", |x: Arr<f32, Matrix<4, 4>>| x.map(|x| x.sqrt()))?;
    program.kernel("cube_sin", |x: Arr<f32, Cube<2, 3, 4>>| x.map(|x| x.sin()))?;
    program.kernel("vec_fill", || fill::<f32, Vector<8>>(1.0))?;
    program.kernel("mat_transpose", |x: Arr<f32, Matrix<4, 4>>| x.transpose())?;
    program.kernel("vec_tabulate", || tabulate(|i: Pos<Vector<8>>| 2.0 * i.i64().cast::<f32>() + 1.0))?;
    program.kernel("vec_sum", |x: Arr<f32, Vector<256>>| x.sum())?;
    Ok(program)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = match (args.next().as_deref(), args.next()) {
        (Some("--out"), Some(folder)) => PathBuf::from(folder),
        (None, _) => PathBuf::from("out"),
        _ => return Err("usage: essay [--out DIR]".into()),
    };
    let emitted = program()?.emit(Target::Metal)?;
    emitted.write_to(&folder)?;
    for file in emitted.files() {
        println!("{}", folder.join(&file.name).display());
    }
    println!("cd {} && {}", folder.display(), emitted.build());
    Ok(())
}
