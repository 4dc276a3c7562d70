//! Programs as a crate of Rust that carries their code: `build.rs` compiles them into a bundle, and the crate needs no compiler where it runs.
//!
//! | file | holds |
//! |---|---|
//! | `src/kernels.rs` | a plain function for each program: slices, scalars and sizes in, vectors out |
//! | `src/NAME.sir` | the program |
//! | `src/engine.rs` | calls of what is in the bundle |
//! | `src/main.rs`, `src/expected.rs` | calls, and what the interpreter makes of them |
//! | `build.rs`, `Cargo.toml`, `README.md` | how it is built |

mod by_hand;
mod trial;

pub use by_hand::emit_kernels;

use super::cases;
use super::walk::{Arithmetic, Names};
use super::{Emitted, File, ProjectError, checked_names, cores_plan};
use crate::code::Type;
use crate::kernel::Plan;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::size::{Size, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};

const ENGINE: &str = include_str!("engine.rs");
const CARGO: &str = include_str!("Cargo.toml.txt");
const BUILD: &str = "cargo run --release";

/// Words of the language, and names that the files use themselves.
const WORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in \
    let loop macro match mod move mut override priv pub ref return Self self static struct super trait true try type typeof union unsafe unsized \
    use virtual where while yield main outputs engine expected kernels bytemuck slyz right times bench validate ramp half bfloat compare measure";

fn is_taken(name: &str) -> bool {
    WORDS.split_whitespace().any(|word| word == name)
}

/// A program with the names of its function.
struct Function<'p> {
    program: &'p Program,
    plan: Plan,
    names: Names,
}

/// Programs as a crate.
pub(super) fn emit(programs: &[Program], road: &ProgramRoad) -> Result<Emitted, ProjectError> {
    checked_names(programs)?;
    let mut functions = vec![];
    for program in programs {
        if is_taken(&program.name) {
            return Err(ProjectError::Reserved { name: program.name.clone(), language: "Rust" });
        }
        let plan = cores_plan(program, road)?;
        let arithmetic = Arithmetic { engine: "", min: "min", ceil_div: |a, n| format!("{a}.div_ceil({n})") };
        let names = Names::new(&plan, arithmetic, &is_taken);
        functions.push(Function { program, plan, names });
    }
    let cases: Vec<_> = programs.iter().map(cases::case).collect();
    let stem = match programs {
        [one] => one.name.clone(),
        _ => "kernels".to_string(),
    };
    let text = |name: &str, text: String| File::text(name.to_string(), text);
    let mut files = vec![
        text("Cargo.toml", CARGO.replace("NAME", &stem).replace("VERSION", env!("CARGO_PKG_VERSION"))),
        text("build.rs", build_script(programs)),
        text("src/kernels.rs", kernels(&functions)),
        text("src/engine.rs", ENGINE.to_string()),
        text("src/main.rs", trial::main(&functions, &cases)),
        text("src/expected.rs", trial::expected(&functions, &cases)),
        text("README.md", readme(&stem, programs)),
    ];
    files.extend(programs.iter().map(|program| text(&format!("src/{}.sir", program.name), format!("{program}\n"))));
    Ok(Emitted { files, build: BUILD.to_string() })
}

fn build_script(programs: &[Program]) -> String {
    let entry = |program: &Program| format!("        .program(\"{0}\", include_str!(\"src/{0}.sir\"))\n", program.name);
    let entries: Vec<String> = programs.iter().map(entry).collect();
    format!(
        "//! Compiles the programs of `src` while the crate is built.\n\n\
         fn main() -> Result<(), slyz_build::Error> {{\n    slyz_build::Bundle::new()\n{}        .write()\n}}\n",
        entries.concat()
    )
}

fn readme(stem: &str, programs: &[Program]) -> String {
    let names: Vec<String> = programs.iter().map(|program| format!("`{}`", program.name)).collect();
    format!(
        "# slyz-{stem}: a crate that carries its kernels\n\nWritten by Słyż. Build and validate in this folder:\n\n```sh\n{BUILD}\n```\n\n\
         It compares {} with `src/expected.rs` and exits with 1 where a result is wrong; `{BUILD} -- --bench 10` measures.\n\
         `build.rs` compiles the programs of `src/*.sir`, for which a C compiler is needed; where the crate runs, none is.\n\
         Programs of yours take `src/kernels.rs`, `src/engine.rs`, the `.sir` files and `build.rs`, and what `Cargo.toml` depends on.\n",
        names.join(", ")
    )
}

/// The type of an element. Half precision is its bits.
fn rust_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "bool",
        Ty::I8 => "i8",
        Ty::I16 => "i16",
        Ty::I32 => "i32",
        Ty::I64 => "i64",
        Ty::U8 => "u8",
        Ty::U16 | Ty::F16 | Ty::BF16 => "u16",
        Ty::U32 => "u32",
        Ty::U64 => "u64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
    }
}

/// A value.
fn literal(value: Scalar) -> String {
    let x = value.as_f64();
    let ty = rust_type(value.ty);
    match value.ty {
        Ty::Bool => value.is_true().to_string(),
        Ty::F16 | Ty::BF16 => format!("0x{:04x}", value.bits),
        Ty::F32 | Ty::F64 if x.is_nan() => format!("{ty}::NAN"),
        Ty::F32 | Ty::F64 if x.is_infinite() => format!("{ty}::{}INFINITY", if x < 0.0 { "NEG_" } else { "" }),
        Ty::F32 => format!("{:?}", x as f32),
        Ty::F64 => format!("{x:?}"),
        _ => value.as_int().to_string(),
    }
}

/// The functions.
fn kernels(functions: &[Function]) -> String {
    let mut out = "//! The programs as functions. Arrays are row-major; behind them come the sizes, in elements. Half precision is its bits.\n\n\
        // Sizes have the names that the programs give them; some programs have many.\n#![allow(non_snake_case, clippy::too_many_arguments, \
        clippy::type_complexity)]\n\nuse crate::engine::{self, Error, Kernel};\n"
        .to_string();
    functions.iter().for_each(|function| out += &function.text());
    out
}

impl Function<'_> {
    /// Sizes that the caller gives.
    fn given(&self) -> Vec<usize> {
        let sizes = self.plan.sizes.iter().enumerate();
        sizes.filter(|(_, decl)| decl.origin == SizeOrigin::Given).map(|(k, _)| k).collect()
    }

    /// The types and shapes of the results.
    fn results(&self) -> Vec<(Ty, &[Size])> {
        self.plan.results.iter().map(|(id, shape)| (self.plan.buffers[id.0 as usize].ty, &shape[..])).collect()
    }

    /// `f32[N, M]`.
    fn shaped(&self, ty: Ty, shape: &[Size]) -> String {
        let name = |var: SizeVar| self.names.sizes[var.0 as usize].clone();
        let extents: Vec<String> = shape.iter().map(|size| size.display(&name).to_string()).collect();
        if shape.is_empty() { ty.to_string() } else { format!("{ty}[{}]", extents.join(", ")) }
    }

    fn text(&self) -> String {
        let name = &self.program.name;
        let (mut params, mut passed, mut told) = (vec![], vec![], vec![]);
        for (param, name) in self.plan.params.iter().zip(&self.names.params) {
            let ty = rust_type(param.ty.elem());
            told.push(format!("{name}: {}", self.shaped(param.ty.elem(), param.ty.shape())));
            match param.ty {
                Type::Scalar(_) => {
                    params.push(format!("{name}: {ty}"));
                    passed.push(format!("bytemuck::bytes_of(&{name})"));
                }
                Type::Array(..) => {
                    params.push(format!("{name}: &[{ty}]"));
                    passed.push(format!("bytemuck::cast_slice({name})"));
                }
            }
        }
        let sizes: Vec<String> = self.given().into_iter().map(|k| self.names.sizes[k].clone()).collect();
        params.extend(sizes.iter().map(|size| format!("{size}: usize")));
        let (mut types, mut values, mut gives) = (vec![], vec![], vec![]);
        for (k, (ty, shape)) in self.results().into_iter().enumerate() {
            gives.push(self.shaped(ty, shape));
            let (ty, read) = match shape {
                [] => (rust_type(ty).to_string(), "engine::element"),
                _ => (format!("Vec<{}>", rust_type(ty)), "engine::elements"),
            };
            types.push(ty);
            values.push(format!("{read}(&outputs, {k})?"));
        }
        let gives = gives.join(", ");
        let (ty, value) = match &types[..] {
            [one] => (one.clone(), values.concat().trim_end_matches('?').to_string()),
            many => (format!("({})", many.join(", ")), format!("Ok(({}))", values.join(", "))),
        };
        format!(
            "\n/// `{} -> {}`.\npub fn {name}({}) -> Result<{}, Error> {{\n    static KERNEL: Kernel = Kernel::new();\n    \
             let outputs = KERNEL.run(\n        include_str!(\"{name}.sir\"),\n        || slyz::bundle!(\"{name}\"),\n        \
             &[{}],\n        &[{}],\n    )?;\n    {value}\n}}\n",
            told.join(", "),
            gives,
            params.join(", "),
            ty,
            sizes.join(", "),
            passed.join(", "),
        )
    }
}
