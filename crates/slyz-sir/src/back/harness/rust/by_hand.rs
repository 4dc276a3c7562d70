//! Kernels that people wrote as a crate of Rust: the file that they stand in, launchers that `vex!` makes of it, and launches of the file as cases.
//!
//! | file | holds |
//! |---|---|
//! | `src/kernels.vex` | the kernels |
//! | `src/main.rs`, `src/expected.rs` | launches, and what the interpreter makes of them |
//! | `build.rs`, `Cargo.toml`, `README.md` | how it is built |

use super::trial::MAIN;
use super::{BUILD, is_taken, literal, rust_type};
use crate::back::harness::by_hand::{self, ByHandLaunch, HandKernel};
use crate::back::harness::{Emitted, File, ProjectError, all_or_reasons, cases, is_name};
use crate::interp::{Array, Value};
use crate::kernel::{Access, Memory, Space};
use crate::types::{Scalar, Ty};

const CARGO: &str = include_str!("Cargo.vex.toml.txt");

/// Kernels of a .vex file, whose text it is, as a crate.
///
/// ```
/// use slyz_sir::back::harness::{HandKernel, rust};
/// use slyz_sir::{launch::Template, text::parse_kernel};
/// let kernel = parse_kernel("kernel iota<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, out_len>()
///     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
///       global readwrite out: i32[out_len]
///       %i: i64 = global.x
///       %v: i32 = cast i32 %i
///       %ok: bool = check out[%i]
///       if %ok { store out[%i], %v } else {}
///     }")?;
/// let template = Template { kernel, constants: vec![] };
/// let hand = HandKernel { template: &template, block: [256, 1, 1], params: vec![], launches: vec![] };
/// let vex = "graph fn iota(out: Tensor<i32>!) { out[thread.x] = thread.x as i32 }";
/// let emitted = rust::emit_kernels(&[hand], vex)?;
/// let build = emitted.files.iter().find(|file| file.name == "build.rs").and_then(|file| file.as_text());
/// assert!(build.is_some_and(|text| text.contains("&kernels::iota(&mut [0i32][..])")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit_kernels(hands: &[HandKernel], text: &str) -> Result<Emitted, ProjectError> {
    let name = |hand: &HandKernel| hand.template.kernel.name.clone();
    all_or_reasons(hands, name, |hands| emit_all(hands, text))
}

fn emit_all(hands: &[HandKernel], text: &str) -> Result<Emitted, ProjectError> {
    let mut kernels: Vec<Launched> = vec![];
    for hand in hands {
        let launched = Launched::new(hand);
        if !is_name(launched.name) {
            return Err(ProjectError::Name(launched.name.to_string()));
        }
        if is_taken(launched.name) {
            return Err(ProjectError::Reserved { name: launched.name.to_string(), language: "Rust" });
        }
        if kernels.iter().any(|other| other.name == launched.name) {
            return Err(ProjectError::Twice(launched.name.to_string()));
        }
        kernels.push(launched);
    }
    let stem = if let [one] = &kernels[..] { one.name } else { "kernels" };
    let file = |name: &str, text: String| File::text(name.to_string(), text);
    let files = vec![
        file("Cargo.toml", CARGO.replace("NAME", stem).replace("VERSION", env!("CARGO_PKG_VERSION"))),
        file("build.rs", build_script(&kernels)),
        file("src/kernels.vex", text.to_string()),
        file("src/main.rs", main(&kernels)),
        file("src/expected.rs", expected(&kernels)),
        file("README.md", readme(stem, &kernels)),
    ];
    Ok(Emitted { files, build: BUILD.to_string() })
}

/// A kernel as Rust launches it.
struct Launched<'a> {
    name: &'a str,
    params: Vec<String>,
    /// Of each parameter that is a tensor, its memory.
    memories: Vec<Option<&'a Memory>>,
    /// The types of the others.
    scalars: Vec<Ty>,
    /// What is said of its blocks, where its threads share something.
    block: String,
    launches: &'a [ByHandLaunch],
}

/// Makes launchers of the file, in a module. Not all of them need be launched.
const LAUNCHERS: &str = "slyz::vex!(\n    #[allow(dead_code)]\n    mod kernels = \"src/kernels.vex\"\n);\n";

impl<'a> Launched<'a> {
    fn new(hand: &'a HandKernel) -> Launched<'a> {
        let kernel = &hand.template.kernel;
        let named = by_hand::named(hand, &is_taken);
        let mut tensors = kernel.memories.iter().filter(|memory| matches!(memory.space, Space::Global(_)));
        let memories = named.iter().map(|(_, is_tensor)| if *is_tensor { tensors.next() } else { None }).collect();
        let [x, y, z] = hand.block;
        let block = if hand.template.nature().free { String::new() } else { format!(".block(({x}, {y}, {z}))") };
        let params = named.into_iter().map(|(name, _)| name).collect();
        let scalars = kernel.body.params.iter().map(|param| param.ty.elem()).collect();
        Launched { name: &kernel.name, params, memories, scalars, block, launches: &hand.launches }
    }

    fn is_written(&self, param: usize) -> bool {
        let memory = self.memories.get(param).copied().flatten();
        memory.is_some_and(|memory| memory.space != Space::Global(Access::Read))
    }

    /// Parameters that are written.
    fn written(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.params.len()).filter(|&param| self.is_written(param))
    }

    /// The name of a list of expected values.
    fn expected_name(&self, launch: usize, param: usize) -> String {
        format!("{}_{launch}_{param}", self.name.to_uppercase())
    }
}

/// The type of an element.
fn element_type(ty: Ty) -> &'static str {
    match ty {
        Ty::F16 => "slyz::f16",
        Ty::BF16 => "slyz::bf16",
        ty => rust_type(ty),
    }
}

fn element(value: Scalar) -> String {
    match value.ty {
        Ty::F16 | Ty::BF16 => format!("{}::from_bits({})", element_type(value.ty), literal(value)),
        _ => literal(value),
    }
}

/// Zero, with its type.
fn zero(ty: Ty) -> String {
    match ty {
        Ty::Bool => "false".to_string(),
        Ty::F16 | Ty::BF16 => element(Scalar::from_bits(ty, 0)),
        Ty::F32 | Ty::F64 => format!("0.0{ty}"),
        ty => format!("0{ty}"),
    }
}

/// Elements in lines.
fn list(values: impl Iterator<Item = Scalar>, pad: &str) -> String {
    let values: Vec<String> = values.map(element).collect();
    values.chunks(10).map(|line| format!("{pad}{},\n", line.join(", "))).collect()
}

/// A tensor as it is passed.
fn passed(name: &str, is_written: bool, shape: &[u64]) -> String {
    let borrowed = if is_written { format!("&mut {name}[..]") } else { format!("&{name}[..]") };
    match shape {
        [_] => borrowed,
        shape => format!("({borrowed}, {shape:?})"),
    }
}

/// Kernels are compiled for arrays of any size; those of the build script have one element each.
fn build_script(kernels: &[Launched]) -> String {
    let entry = |kernel: &Launched| {
        let mut scalars = kernel.scalars.iter();
        let argument = |(k, memory): (usize, &Option<&Memory>)| match memory {
            Some(memory) => {
                let zero = format!("[{}]", zero(memory.ty));
                passed(&zero, kernel.is_written(k), &vec![1; memory.shape.len()])
            }
            None => scalars.next().map(|ty| zero(*ty)).unwrap_or_default(),
        };
        let arguments: Vec<String> = kernel.memories.iter().enumerate().map(argument).collect();
        let (name, block) = (kernel.name, &kernel.block);
        format!(
            "        .kernel(\n            \"{name}\",\n            &kernels::{name}({}){block},\n        )\n",
            arguments.join(", ")
        )
    };
    let entries: String = kernels.iter().map(entry).collect();
    format!(
        "//! Compiles the kernels of `src/kernels.vex` while the crate is built.\n\n{LAUNCHERS}\n\
         fn main() -> Result<(), slyz_build::Error> {{\n    slyz_build::Bundle::new()\n{entries}        .write()\n}}\n"
    )
}

fn readme(stem: &str, kernels: &[Launched]) -> String {
    let names: Vec<String> = kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
    format!(
        "# slyz-{stem}: a crate that carries its kernels\n\nWritten by Słyż. Build and validate in this folder:\n\n```sh\n{BUILD}\n```\n\n\
         It compares {} with `src/expected.rs` and exits with 1 where a result is wrong; `{BUILD} -- --bench 10` measures.\n\
         `build.rs` compiles the kernels of `src/kernels.vex`, for which a C compiler is needed; where the crate runs, none is.\n\
         Programs of yours take that file, `build.rs`, `slyz::vex!` and `slyz::bundle!` as `src/main.rs` has them, and what `Cargo.toml` depends on.\n",
        names.join(", ")
    )
}

/// What the interpreter made of the launches.
fn expected(kernels: &[Launched]) -> String {
    let mut out = "//! What the interpreter of Słyż computed: every so many elements of each tensor that is written.\n"
        .to_string();
    out += "\n// They are as precise as they are.\n#![allow(clippy::excessive_precision, clippy::approx_constant)]\n";
    for kernel in kernels {
        for (number, launch) in kernel.launches.iter().enumerate() {
            for (array, param) in launch.results.iter().zip(kernel.written()) {
                let values = list(cases::sampled(array).0.into_iter(), "    ");
                let (name, ty) = (kernel.expected_name(number, param), element_type(array.ty));
                out += &format!("\npub const {name}: &[{ty}] = &[\n{values}];\n");
            }
        }
    }
    out
}

fn main(kernels: &[Launched]) -> String {
    let carried: String = kernels.iter().map(|kernel| format!("    slyz::bundle!(\"{}\")?;\n", kernel.name)).collect();
    let validated: String = kernels.iter().map(validate).collect();
    let measured: String = kernels.iter().filter_map(bench).collect();
    // Cases are launches of the file, with what it passes.
    let main = MAIN
        .split_once("\n/// Prints how far")
        .map_or(MAIN.to_string(), |(_, rest)| format!("/// Prints how far{rest}"));
    // Where nothing is launched, nothing is compared.
    let unused = if measured.is_empty() { "#![allow(dead_code, unused_variables, unused_mut)]\n" } else { "" };
    format!(
        "//! Validates the kernels of `kernels.vex`, and with --bench TIMES measures them. Exits with 1 where a result is wrong.\n\
         #![forbid(unsafe_code)]\n{unused}\nmod expected;\n\nuse std::process::ExitCode;\nuse std::time::Instant;\n\n{LAUNCHERS}\n\
         type Error = Box<dyn std::error::Error + Send + Sync>;\n\n\
         /// Has launches find the code that this program carries.\nfn carry() -> Result<(), slyz::Error> {{\n{carried}    Ok(())\n}}\n\n\
         fn validate() -> Result<bool, Error> {{\n    carry()?;\n    let mut right = true;\n{validated}    Ok(right)\n}}\n\n\
         fn bench(times: u32) -> Result<(), Error> {{\n{measured}    Ok(())\n}}\n\n{main}"
    )
}

/// Lines that make the arguments of a launch, the launch, and the bytes of its arguments.
fn call(kernel: &Launched, launch: &ByHandLaunch) -> (String, String, usize) {
    let (mut lines, mut args, mut bytes) = (String::new(), vec![], 0);
    for (k, (value, name)) in launch.arguments.iter().zip(&kernel.params).enumerate() {
        match value {
            Value::Scalar(value) => args.push(element(*value)),
            Value::Array(Array { ty, shape, data }) => {
                let word = if kernel.is_written(k) { "mut " } else { "" };
                let values = list(data.iter().map(|&bits| Scalar { ty: *ty, bits }), "            ");
                let ty_name = element_type(*ty);
                lines += &format!("        let {word}{name}: Vec<{ty_name}> = vec![\n{values}        ];\n");
                bytes += data.len() * ty.bytes();
                args.push(passed(name, kernel.is_written(k), shape));
            }
        }
    }
    let (name, block, [x, y, z]) = (kernel.name, &kernel.block, launch.threads);
    (lines, format!("kernels::{name}({}).threads(({x}, {y}, {z})){block}.run()", args.join(", ")), bytes)
}

fn validate(kernel: &Launched) -> String {
    let name = kernel.name;
    if kernel.launches.is_empty() {
        return format!("    println!(\"  {name}: not compared\");\n");
    }
    let mut out = String::new();
    for (number, launch) in kernel.launches.iter().enumerate() {
        let label = if number == 0 { name.to_string() } else { format!("{name}, launch {}", number + 1) };
        let (lines, call, _) = call(kernel, launch);
        out += &format!("    {{\n{lines}        {call}?;\n");
        for (array, param) in launch.results.iter().zip(kernel.written()) {
            let found = &kernel.params[param];
            let label = if launch.results.len() == 1 { label.clone() } else { format!("{label}, {found}") };
            let (_, stride) = cases::sampled(array);
            let tolerance =
                if array.ty.is_float() { format!("Some({})", cases::tolerance(array.ty)) } else { "None".to_string() };
            let number_of = match array.ty {
                Ty::Bool => "|x| f64::from(u8::from(x))",
                Ty::F16 | Ty::BF16 => "|x| x.to_f64()",
                Ty::I64 | Ty::U64 => "|x| x as f64",
                Ty::F64 => "|x| x",
                _ => "f64::from",
            };
            out += &format!(
                "        right &= compare(\n            \"{label}\",\n            &{found},\n            expected::{},\n            \
                 ({stride}, {}),\n            {tolerance},\n            {number_of},\n        );\n",
                kernel.expected_name(number, param),
                array.data.len()
            );
        }
        out += "    }\n";
    }
    out
}

/// The first launch.
fn bench(kernel: &Launched) -> Option<String> {
    let (lines, call, bytes) = call(kernel, kernel.launches.first()?);
    let name = kernel.name;
    Some(format!("    {{\n{lines}        measure(\"{name}\", times, {bytes}.0, || Ok({call}?))?;\n    }}\n"))
}
